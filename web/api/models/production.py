"""Extraction, processing and export: what a request for one contains."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from controller.production.orders import ProductionOrder, named_images
from core.document import TEXT


class NewProduction(ProductionOrder):
    """As `edbench produce text`, `images` and `export`."""

    type: Annotated[Literal["extraction", "processing", "export"], Field(description="What the job is to do.")]
    sources: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(
            min_length=1,
            max_length=100,
            description="Discoveries that have completed: ids, unambiguous beginnings of them, or `last`.",
        ),
    ]
    out: Annotated[str, Field(max_length=4_000, pattern=TEXT)] = Field(
        description="Absolute path of an empty or new directory that the workers reach, below the storage root or"
        " EDBENCH_PRODUCTIONS."
    )
    dat_encoding: Annotated[
        Literal["utf-8", "utf-16-le", "cp1252"],
        Field(title="DAT encoding", description="Encode an export's loadfile.dat with this character set."),
    ] = "utf-8"
    image_format: Annotated[Literal["tiff", "jpeg", "pdf"], Field(description="Of a processing job's pages.")] = "tiff"
    dpi: int = Field(300, ge=72, le=600, title="Resolution, dpi", description="Of a processing job's pages.")
    images: Annotated[str | None, AfterValidator(named_images)] = Field(
        None, max_length=64, description="Take pages, items and numbers from this processing job (export only)."
    )
    filer: str | None = Field(None, max_length=100, description="Emulated filer; by default that of the server.")
    workers: int | None = Field(
        None, ge=1, le=512, description="Worker processes to start, default 2; only where the server starts them."
    )
    slots: int | None = Field(
        None, ge=1, le=64, title="Slots per worker", description="Only where the server starts the workers."
    )
