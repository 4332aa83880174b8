"""`edbench produce`: jobs that write the items of discoveries, and productions checked and imported."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.installation import installation
from cli.output import flush
from cli.tree import Commands
from core import texts
from core.document import Order
from core.errors import RunFailed, UsageError
from core.filer.model import filer_help
from core.job_types import JobType
from core.texts import many
from production.options import DAT_ENCODING, DPI, IMAGE_FORMAT

if TYPE_CHECKING:
    from production.orders import ProductionOrder


commands = Commands()

Sources = Annotated[
    list[str], typer.Argument(metavar="JOB...", help="completed discoveries: ids, unambiguous prefixes, or `last`")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help=texts.OUT)]
Filer = Annotated[str | None, typer.Option("--filer", metavar="NAME", help=filer_help("EDBENCH_FILER or none"))]


class Run(Order):
    """Options for running a job that writes."""

    workers: opt.Workers = opt.DEFAULT_WORKERS
    slots: opt.Slots = None
    filer: Filer = None
    storage: opt.StorageRoot = None


@commands.add(
    "text",
    "edbench produce text last --out out --query 'budget OR forecast'",
    "production.orders:ProductionOrder",
)
def text(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    run: Run,
) -> None:
    """Write the text and metadata of items (an extraction job).

    It writes one UTF-8 text file per item as the index has it, metadata.jsonl and metadata.csv. The job can be paused
    and resumed."""
    _produce(ctx, JobType.EXTRACTION, jobs, out, order, run, ())


@commands.add(
    "images",
    "edbench produce images last --out images --prefix ABC --format tiff",
    "production.orders:ProductionOrder",
)
def images(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    run: Run,
    image_format: Annotated[Literal["tiff", "jpeg", "pdf"], typer.Option("--format", help=texts.FORMAT)] = "tiff",
    dpi: Annotated[int, typer.Option("--dpi", min=72, max=600, help="Render pages at this resolution.")] = 300,
) -> None:
    """Write page images with Bates numbers (a processing job).

    It writes one file per page, and an Opticon file. TIFF (group 4) and PDF are black and white, JPEG is in colour.

    PDFs, images, mail and plain text are rendered; office documents where LibreOffice is installed. Other items, and
    items that cannot be read, get a slip sheet."""
    extras = ((IMAGE_FORMAT, image_format), (DPI, str(dpi)))
    _produce(ctx, JobType.PROCESSING, jobs, out, order, run, extras)


@commands.add(
    "export",
    "edbench produce export last --out production --tag responsive --prefix ABC",
    "production.orders:ProductionOrder",
)
def export(
    ctx: typer.Context,
    *,
    jobs: Sources,
    out: Out,
    order: ProductionOrder,
    run: Run,
    dat_encoding: Annotated[
        Literal["utf-8", "utf-16-le", "cp1252"],
        typer.Option("--dat-encoding", help="Write loadfile.dat in this encoding."),
    ] = "utf-8",
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            metavar="JOB",
            help="Use the page images of this job of `edbench produce images` for the same items.",
        ),
    ] = None,
) -> None:
    """Write natives, text, load files and hashes (an export job).

    Natives are read again from the source. A native whose bytes have changed since the discovery becomes an exception
    and is not written."""
    extras = ((DAT_ENCODING, dat_encoding),)
    _produce(ctx, JobType.EXPORT, jobs, out, order, run, extras, images)


def _produce(
    ctx: typer.Context,
    kind: JobType,
    jobs: list[str],
    out: Path,
    order: ProductionOrder,
    run: Run,
    extras: tuple[tuple[str, str], ...],
    images: str | None = None,
) -> None:
    from production.orders import named_images

    context = shared(ctx)
    settings = context.settings(storage=run.storage, slots=run.slots, filer=run.filer)
    options = order.options(settings, dataclasses.replace(order.choice(kind, out.absolute()), extras=extras))
    try:
        named_images(images)
    except ValueError as error:
        raise UsageError(f"--images: {error}", field="images") from error
    work = ("production.create", "production.choosing", "cli.summary")
    with installation(settings, slots=run.workers * settings.slots, work=work) as installed:
        from cli.discover import follow
        from controller.filer import refuse_no_common_arbiter
        from controller.jobs.figures import production_lines
        from controller.jobs.groups import those_there
        from controller.jobs.run import crew_of
        from core.storage.layer import Storage
        from production.choosing import options_with_images, production_figures, with_findings
        from production.create import ProductionPlan, create_production

        sources = [handle for one in jobs for handle in installed.find_discovered(one).each]
        pages = those_there(installed.find(images))[0] if images is not None else None
        if pages is not None:
            options = options_with_images(pages, options, sources)
        options = with_findings(options, sources, installed.databases, None if pages is None else pages.job)
        database = sources[0].database
        refuse_no_common_arbiter([database], installed.settings, ours=installed.embedded)
        workers, slots = (run.workers, installed.settings.slots) if installed.embedded else crew_of(database)
        plan = ProductionPlan(
            sources=sources,
            options=options,
            name=order.name or f"{kind} of {sources[0].job.name}",
            workers=workers,
            slots=slots,
            images=pages,
            databases=installed.databases,
        )
        created = create_production(Storage(), installed.settings, plan)
        with database.transaction() as conn:
            chosen = production_lines(production_figures(conn, created.each[0]))
        for name, line in chosen:
            context.say(f"{name}: {line}")
        follow(context, installed, created, workers=workers, slots=slots)


def _line_by_line(context: CommandContext, faults: list[str]) -> Callable[[str], None]:
    """Return a function that collects faults; in table output it also prints each at once."""

    def fault(line: str) -> None:
        faults.append(line)
        if context.output == "table":
            context.out.print(line, markup=False, soft_wrap=True)

    return fault


@commands.add("check", "edbench produce check production")
def check(
    ctx: typer.Context,
    production: Annotated[
        Path, typer.Argument(metavar="DIR", help="output of `edbench produce text`, `images` or `export`")
    ],
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            metavar="N",
            min=0,
            max=1_000_000_000,
            help="Require N records; load files do not store the number.",
        ),
    ] = None,
) -> None:
    """Compare the files of a production with its load files.

    Each fault is one line: files that are missing, differ or are not named, paths outside DIR, gaps between numbers,
    incomplete families, pages that are missing, duplicated or miscounted, load files (DAT, Opticon, EDRM XML, CSV) that
    contradict each other. The exit status is 1 if there is a fault. Needs no database."""
    from production.check import check as check_production  # slow to import

    context, faults = shared(ctx), list[str]()
    done = check_production(production, _line_by_line(context, faults), records=records)
    context.document({**dataclasses.asdict(done), "messages": faults})
    context.people.print(
        f"{many(done.records, 'record')}, {many(done.files, 'file')}, {' '.join(done.load_files)}: {many(done.faults, 'fault')}",
        markup=False,
    )
    flush()
    if done.faults:
        raise RunFailed(f"{production} differs from its load files: {many(done.faults, 'fault')}, listed above")


@commands.add("import", "edbench produce import theirs/loadfile.dat --out source")
def import_(
    ctx: typer.Context,
    load_file: Annotated[Path, typer.Argument(metavar="DAT", help="load file of a production, from any program")],
    out: Out,
    topmost: Annotated[
        bool, typer.Option("--topmost", help="Omit attachments: the native of their parent contains them.")
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", metavar="DIR", help="Resolve the paths in DAT from DIR.  [default: the directory of DAT]"
        ),
    ] = None,
) -> None:
    """Convert a production of any program to a source to discover.

    DIR gets a directory for each custodian with the natives under their numbers, the texts of records without a native,
    and empty files for records with neither: hard links where possible, else copies. The discovery gives each item the
    fields of its record (`load_begdoc` ...). A native that is missing, has another hash than its record, or is outside
    the root becomes an exception there, a line here, and exit status 1. So does the second record of a number, which is
    not imported."""
    from production.importing import take as take_natives  # slow to import

    context, faults = shared(ctx), list[str]()
    done = take_natives(load_file, out, _line_by_line(context, faults), topmost=topmost, root=root)
    context.document({**dataclasses.asdict(done), "messages": faults})
    context.people.print(
        f"{many(done.records, 'record')}: {done.items:,} imported ({many(done.natives, 'native')}, {many(done.texts, 'text')},"
        f" {done.bare:,} with neither), {many(done.attached, 'attachment')} omitted, {done.faults:,} not imported;"
        f" {done.wrong:,} differ from the load file",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    flush()
    if done.faults or done.wrong:
        raise RunFailed(
            f"{load_file}: {many(done.faults, 'record')} not imported, {done.wrong:,} differ from the load file"
        )
