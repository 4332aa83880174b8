"""Options of jobs that extract, process or export, and what they write (docs/production.md)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from core.job_types import FileKind, JobType, TypeOptions

DAT_ENCODING = "dat_encoding"  # of an export's extras
IMAGE_FORMAT, DPI = "format", "dpi"  # of a processing job's extras
WITHHELD = "withheld"  # in the payload of a task of phase export: numbers of items whose natives are not written
_NAMES = ("out", "query", "tag", "withhold", "goes_by", "prefix")  # given by people, and possibly confidential
MARKER = ".edbench-production.json"  # in the output directory: names its job


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionChoice(TypeOptions):
    """Options of a job that extracts, processes or exports."""

    type: JobType
    sources: tuple[str, ...] = ()  # jobs whose items are taken, ids in hex, in the order of the numbers
    out: str = ""  # absolute; everything is written below it
    query: str = ""  # chooses the items; empty: all of them
    tag: str = ""
    withhold: tuple[
        str, ...
    ] = ()  # tags whose items are not taken, with their families; with `images` in addition to that job's
    originals: bool = False  # families, or items without one, whose originals are taken are omitted
    not_nist: bool = False  # so are files on a list of known software
    families: bool = True  # whole families are taken or omitted
    items: int = 0  # taken
    chosen: int = 0  # taken, withheld, copies, system files and containers together
    withheld: int = 0  # chosen items that are not taken because of `withhold`
    copies: int = 0  # of the remaining ones, those not taken because of `originals`
    system_files: int = 0  # of the remaining ones, those not taken because of `not_nist`
    goes_by: tuple[str, ...] = ()  # tags that decide what is taken …
    tag_changes: int = 0  # … and how often items of the sources had got or lost one by then
    containers: int = 0  # chosen containers; only their content can be produced
    left_out: int = 0  # for an export of pages: copies without pages whose original is withheld now
    equal: int = 0  # taken items that equal an item with a tag of `withhold`
    prefix: str = ""  # of a control number …
    digits: int = 8  # … and how many digits it has at least
    first: int = 1  # number of the first item
    folder_files: int = 1_000  # items in one folder of a volume at most
    volume_bytes: int = 0  # of natives and text in one volume; 0: there is one volume
    images: str = ""  # of an export: the processing job whose images it takes, its id in hex
    findings: tuple[str, ...] = ()  # of duplicates, a token in hex for each source; empty: no valid finding
    extras: tuple[tuple[str, str], ...] = ()  # options that only one type has, by name

    @property
    def reads(self) -> tuple[str, ...]:
        """Ids of its sources and of the job whose pages it takes."""
        return (*self.sources, self.images) if self.images else self.sources

    def anonymous(self) -> dict[str, Any]:
        """Return the options without names of directories, tags and numbers, and without queries."""
        return {key: value for key, value in asdict(self).items() if key not in _NAMES}

    @property
    def deduped(self) -> list[str]:
        """Sources whose duplicates are named in the reports."""
        return [source for source, finding in zip(self.sources, self.findings, strict=False) if finding]

    @property
    def last(self) -> int:
        """The highest possible item number. Numbers of pages were given before some items were withheld."""
        return self.first + self.items - 1 + (self.withheld if self.images else 0)

    def control(self, number: int) -> str:
        """Return the control number of an item."""
        return f"{self.prefix}{number:0{self.digits}d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedFile:
    """A file that a job has written below its output directory; one row of table `production_file`."""

    number: int  # of the item; 0: of the job as a whole
    kind: FileKind
    page: int = 0  # of an image: 1 …; of a report its place
    path: str  # relative to the output directory, with slashes
    size: int
    sha256: bytes
    md5: bytes
