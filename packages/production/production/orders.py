"""Options of an extraction, processing or export job; as `controller.jobs.orders` for a discovery."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from controller.jobs.orders import Fsync, Metavar, Name, Share, Traced
from core.document import Order, text_field
from core.errors import UsageError
from core.filer.model import filer_choice
from core.job_types import JobType
from core.records import FsyncPolicy, JobOptions, Priority
from core.settings import Settings
from production.options import ProductionChoice

_GB = 1_000_000_000
_CHOICE = ProductionChoice(type=JobType.EXPORT)
_LEAST_GB, _MOST_GB = 1e-9, 1e6  # a byte, a petabyte
_MOST_TAGS = 100
_DEVICES = ("COM", "LPT")  # numbered, no file may have their name, whatever its suffix


def _plain(prefix: str) -> str:
    # A digit at the end would make `A0` and 1 in seven digits the same number as `A` and 1 in eight.
    if re.fullmatch("([A-Za-z]([A-Za-z0-9_-]*[A-Za-z_-])?)?", prefix) is None:
        raise ValueError("use letters, digits, _ and -, starting with a letter and not ending with a digit")
    return prefix


def refusing_blank(refusal: str) -> Callable[[str | None], str | None]:
    """Return a function that raises ValueError for a blank text: an unset variable of a shell would choose
    everything."""

    def checked(text: str | None) -> str | None:
        if text is not None and not text.strip():
            raise ValueError(refusal)
        return text

    return checked


named_images = refusing_blank("no job is given; give a job of `edbench produce images`, or remove the option")


def _tags(given: list[str] | None) -> list[str] | None:
    """Return the tags without repetitions. Raises ValueError for an invalid name."""
    from search.language import checked_name  # few give any, and a command's start would wait

    if given is None:
        return None
    if len(given) > _MOST_TAGS:
        raise ValueError(f"{len(given):,} tags; at most {_MOST_TAGS} are allowed")
    try:
        return list(dict.fromkeys(checked_name(tag, "a tag") for tag in given))
    except UsageError as error:
        raise ValueError(str(error)) from error


class ProductionOrder(Order):
    """Options that the jobs of these types share."""

    query: Annotated[
        str | None,
        text_field(10_000, "Produce the items of this query (`edbench review search`).  [default: all]"),
        AfterValidator(refusing_blank("the query is empty; give at least one word, or * for everything")),
    ] = None
    tag: Annotated[
        str | None,
        text_field(100, "Produce only items with this tag."),
        AfterValidator(refusing_blank("the tag is empty; give the name of a tag, or remove the option")),
    ] = None
    withhold: Annotated[
        list[str] | None,
        AfterValidator(_tags),
        Field(description="Withhold items with this tag and their families; repeatable."),
        Metavar("TAG"),
    ] = None
    originals: Annotated[
        bool,
        Field(
            title="Originals alone",
            description="Omit duplicates of produced items (`edbench review dedupe`).",
        ),
    ] = False
    not_nist: Annotated[
        bool, Field(title="No system files", description="Omit system files (`edbench review denist`).")
    ] = False
    no_families: Annotated[bool, Field(description="Produce items without the rest of their families.")] = False
    prefix: Annotated[
        str,
        Field(
            max_length=40,
            description="Start control numbers with TEXT: letters, digits, _ and -, a letter first, no digit last.",
        ),
        AfterValidator(_plain),
        Metavar("TEXT"),
    ] = "EDB"
    digits: Annotated[int, Field(ge=1, le=18, description="Pad control numbers to this many digits.")] = _CHOICE.digits
    first: Annotated[int, Field(ge=1, le=10**15, description="Number the first item with this number.")] = _CHOICE.first
    folder_files: Annotated[
        int, Field(ge=1, le=1_000_000, description="Put at most this many items into a folder.")
    ] = _CHOICE.folder_files
    volume_gb: Annotated[
        float | None,
        Field(
            ge=_LEAST_GB,
            le=_MOST_GB,
            title="Volume, GB",
            description="Start a new volume after this many GB (10⁹ bytes) of natives and text.  [default: one volume]",
        ),
    ] = None
    name: Name = ""
    priority: Share = Priority.NORMAL
    fsync: Fsync = FsyncPolicy.NONE
    trace: Traced = False

    def choice(self, kind: JobType, out: Path) -> ProductionChoice:
        """Return the options of the job, without its items. Raises UsageError."""
        if self.prefix.upper() in _DEVICES and self.digits == 1:
            raise UsageError(f"--prefix {self.prefix} with one digit makes names that Windows reserves; give more digits",
                             field="digits")  # fmt: skip
        try:
            str(out).encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(f"--out {str(out)!r} is not UTF-8; give the directory another name") from None
        return ProductionChoice(
            type=kind,
            out=str(out),
            query=(self.query or "").strip(),
            tag=self.tag or "",
            withhold=tuple(self.withhold or ()),
            originals=self.originals,
            not_nist=self.not_nist,
            families=not self.no_families,
            prefix=self.prefix,
            digits=self.digits,
            first=self.first,
            folder_files=self.folder_files,
            volume_bytes=0 if self.volume_gb is None else max(1, round(self.volume_gb * _GB)),
        )

    def options(self, settings: Settings, choice: ProductionChoice) -> JobOptions:
        """Return the options with which the job is created. Raises UsageError."""
        return JobOptions(
            of_type=choice,
            priority=self.priority,
            fsync=self.fsync,
            trace=self.trace,
            filer=filer_choice(settings.filer),
            index_engine=settings.index_engine,
        )
