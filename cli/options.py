"""Options that commands share, and the many of `discover`, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.filer.load import profile_names
from core.ocr import DEFAULT_LANGUAGES
from core.passwords import MOST_PASSWORDS
from core.records import FsyncPolicy, Layout
from core.settings import INDEX_ENGINES

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="id of a job or group, an unambiguous beginning of it, or `last`")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the result there")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
StorageRoot = Annotated[
    Path | None, typer.Option(metavar="DIR", help="storage root of the job  [default: EDBENCH_STORAGE]")
]

# readable=False: whether it can be read is said by prepare_source, with what to do.
Source = Annotated[
    Path, typer.Argument(metavar="DIR", readable=False, help="a corpus, or any directory of custodians' directories")
]
Workers = Annotated[int, typer.Option(min=1, max=512, help="worker processes to start (embedded services only)")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="embedded, or compose: the containers that `make up` started  [default: EDBENCH_CLUSTER or embedded]",
    ),
]
Slots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each worker  [default: EDBENCH_SLOTS or 4]")]
Databases = Annotated[int, typer.Option(min=1, max=64, help="database servers: a job on each, over the same data set")]
Shard = Annotated[bool, typer.Option("--shard", help="spread the custodians over the databases")]
SourceCopies = Annotated[int, typer.Option(min=1, max=64, help="1, or a copy of the source for each database")]
PlannedWorkers = Annotated[
    int | None, typer.Option(min=1, max=512, help="worker processes to start  [default: as planned]")
]
PlannedSlots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each  [default: as planned]")]
Passwords = Annotated[
    Path | None,
    typer.Option(
        "--passwords",
        metavar="FILE",
        help=f"passwords to try on encrypted items, one a line, UTF-8, at most {MOST_PASSWORDS:,}",
    ),
]
Ocr = Annotated[bool, typer.Option("--ocr", help="read pictures and scans too, by tesseract, in a phase of its own")]
OcrLanguages = Annotated[
    str | None,
    typer.Option("--ocr-languages", metavar="NAMES", help=f"tesseract's, as eng+deu  [default: {DEFAULT_LANGUAGES}]"),
]
SinglePass = Annotated[bool, typer.Option("--single-pass", help="take text while unpacking")]
JobName = Annotated[str, typer.Option(help="name of the job  [default: the source's]")]
Client = Annotated[str, typer.Option(help="client the job belongs to")]
Project = Annotated[str, typer.Option(help="project the job belongs to")]
Fsync = Annotated[FsyncPolicy, typer.Option(help="when written files are forced out")]
FileLayout = Annotated[Layout, typer.Option(help="where extracted children lie")]
IndexEngine = Annotated[str | None, typer.Option(help=f"{' or '.join(INDEX_ENGINES)}  [default: EDBENCH_INDEX_ENGINE]")]
Filer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"emulated filer: {', '.join(profile_names())}, or a file in TOML  [default: EDBENCH_FILER or none]",
    ),
]
Trace = Annotated[bool, typer.Option("--trace", help="keep every storage call, for `edbench replay`")]
Serve = Annotated[bool, typer.Option("--serve", help="show the page on loopback while it runs")]
ServePort = Annotated[int, typer.Option("--serve-port", min=0, max=65_535, help="of that page; 0: any that is free")]
MaxDepth = Annotated[int, typer.Option(min=1, max=100, help="nesting that is still opened")]
ParseMb = Annotated[int, typer.Option(min=1, help="a message or document above so many MB is too_large")]
ItemSeconds = Annotated[float, typer.Option(min=0.1, help="deadline of an item, beside what its size adds")]
ExpansionRatio = Annotated[float, typer.Option(min=1, help="extracted over loose bytes, above which a file is a bomb")]
LeaseSeconds = Annotated[
    float, typer.Option(min=0.5, help="a task is another slot's when its own was silent for so long")
]
DispatchSeconds = Annotated[float, typer.Option(min=0.5, help="a message that nobody took for so long is sent again")]
