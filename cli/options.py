"""Options that commands share, and the many of `discover`, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.records import FsyncPolicy, Layout
from core.settings import INDEX_ENGINES

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="id of a job, an unambiguous beginning of it, or `last`")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the result there")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
StorageRoot = Annotated[
    Path | None, typer.Option(metavar="DIR", help="storage root of the job  [default: EDBENCH_STORAGE]")
]

Source = Annotated[Path, typer.Argument(metavar="DIR", help="a corpus, or any directory of custodians' directories")]
Workers = Annotated[int, typer.Option(min=1, max=512, help="worker processes to start (embedded services only)")]
Slots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each worker  [default: EDBENCH_SLOTS or 4]")]
PlannedWorkers = Annotated[
    int | None, typer.Option(min=1, max=512, help="worker processes to start  [default: as planned]")
]
PlannedSlots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each  [default: as planned]")]
SinglePass = Annotated[bool, typer.Option("--single-pass", help="take text while unpacking")]
JobName = Annotated[str, typer.Option(help="name of the job  [default: the source's]")]
Client = Annotated[str, typer.Option(help="client the job belongs to")]
Project = Annotated[str, typer.Option(help="project the job belongs to")]
Fsync = Annotated[FsyncPolicy, typer.Option(help="when written files are forced out")]
FileLayout = Annotated[Layout, typer.Option(help="where extracted children lie")]
IndexEngine = Annotated[str | None, typer.Option(help=f"{' or '.join(INDEX_ENGINES)}  [default: EDBENCH_INDEX_ENGINE]")]
MaxDepth = Annotated[int, typer.Option(min=1, max=100, help="nesting that is still opened")]
ParseMb = Annotated[int, typer.Option(min=1, help="a message or document above so many MB is too_large")]
ItemSeconds = Annotated[float, typer.Option(min=0.1, help="deadline of an item, beside what its size adds")]
ExpansionRatio = Annotated[float, typer.Option(min=1, help="extracted over loose bytes, above which a file is a bomb")]
LeaseSeconds = Annotated[
    float, typer.Option(min=0.5, help="a task is another slot's when its own was silent for so long")
]
DispatchSeconds = Annotated[float, typer.Option(min=0.5, help="a message that nobody took for so long is sent again")]
