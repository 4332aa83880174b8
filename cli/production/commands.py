"""`edbench extract`, `edbench process` and `edbench export`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import options as opt
from cli.context import shared, with_options, writable_file
from cli.jobs.discover import DEFAULT_WORKERS
from cli.taking import taking
from controller.production.orders import ProductionOrder, named_images
from core.errors import UsageError
from core.options.production import DAT_ENCODING, DPI, IMAGE_FORMAT, JobType

Sources = Annotated[
    list[str],
    typer.Argument(metavar="JOB...", help="discoveries that have completed: ids, beginnings of them, or `last`"),
]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="an empty directory that the workers reach, or a new one")
]
DatEncoding = Annotated[Literal["utf-8", "utf-16-le", "cp1252"], typer.Option("--dat-encoding", help="of loadfile.dat")]
Images = Annotated[
    str | None,
    typer.Option("--images", metavar="JOB", help="the pages that this job of `edbench process` made of the same items"),
]
ImageFormat = Annotated[
    Literal["tiff", "jpeg", "pdf"],
    typer.Option(
        "--format", help="of pages: TIFF in black and white (group 4), JPEG in colour, PDF in black and white"
    ),
]
Dpi = Annotated[int, typer.Option("--dpi", min=72, max=600, help="dots an inch of pages")]
Filer = Annotated[
    str | None, typer.Option("--filer", metavar="NAME", help="emulated filer  [default: EDBENCH_FILER or none]")
]


@taking()
def extract(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    filer: Filer = None,
    json_file: opt.JsonFile = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Write text and metadata of a discovery's items to DIR: a job of its own, which can be paused and resumed.

    Text as the index holds it, a file an item in UTF-8; metadata.jsonl and metadata.csv tell of every item.
    """
    _produce(ctx, JobType.EXTRACTION, jobs, out, order, workers, slots, filer, json_file, storage, ())


@taking()
def export(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    filer: Filer = None,
    dat_encoding: DatEncoding = "utf-8",
    images: Images = None,
    json_file: opt.JsonFile = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Write a production of a discovery's items to DIR: natives, text, load files and hashes.

    Natives are read again from the evidence; one whose bytes are not those that were found is an exception and no file.
    """
    extras = ((DAT_ENCODING, dat_encoding),)
    _produce(ctx, JobType.EXPORT, jobs, out, order, workers, slots, filer, json_file, storage, extras, images)


@taking()
def process(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    workers: opt.Workers = DEFAULT_WORKERS,
    slots: opt.Slots = None,
    filer: Filer = None,
    image_format: ImageFormat = "tiff",
    dpi: Dpi = 300,
    json_file: opt.JsonFile = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Make pages of a discovery's items in DIR, a file a page with its Bates number below it, and an Opticon file.

    PDFs, pictures, mail and plain text are drawn, office documents where LibreOffice is installed; everything else, and what
    cannot be read, is a slip sheet.
    """
    extras = ((IMAGE_FORMAT, image_format), (DPI, str(dpi)))
    _produce(ctx, JobType.PROCESSING, jobs, out, order, workers, slots, filer, json_file, storage, extras)


def _produce(
    ctx: typer.Context,
    kind: JobType,
    jobs: list[str],
    out: Path,
    order: ProductionOrder,
    workers: int,
    slots: int | None,
    filer: str | None,
    json_file: Path | None,
    storage: Path | None,
    extras: tuple[tuple[str, str], ...],
    images: str | None = None,
) -> None:
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=slots, engine=None, filer=filer)
    writable_file(json_file, "--json")
    choice = replace(order.choice(kind, out.absolute()), extras=extras)
    options = order.options(settings, choice)
    try:
        named_images(images)
    except ValueError as error:
        raise UsageError(f"--images: {error}", field="images") from error

    from cli.installation import installation
    from cli.production.producing import produce

    with installation(settings, slots=workers * settings.slots, work="cli.production.producing") as installed:
        produce(context, installed, jobs, order.name, options, workers, json_file, images)
