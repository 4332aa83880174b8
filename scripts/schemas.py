"""Write docs/schemas/*.json from the records that documents are written and read with: `make schemas`."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import ConfigDict, TypeAdapter

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 — imports from the directory above
from controller.arrays.importing import Imported
from controller.cluster.containers import Scaled
from controller.doctor import Finding
from controller.jobs.documents import GroupDocument, JobDocument, ListedJob
from controller.jobs.figures import GroupFigures, JobFigures, TraceFigures
from controller.jobs.leftovers import Leftover
from controller.search.found import FoundItem
from controller.search.named import TagChange
from controller.search.report import HitReport
from controller.verify.group import GroupVerified
from controller.verify.job import Verification
from core.document import Document
from dataset_gen.truth import check as corpus_check
from experiments.package import check as result_check
from experiments.result.codec import json_schema
from experiments.result.documents import Comparison
from experiments.sizing import SizingDocument
from production.verify import ProductionVerification
from readers.records import Kind, TextState
from replay.commands import WrittenTrace
from replay.exports import Exported
from replay.trace_summary import TraceInfo
from review.dedupe.run import Duplicates
from review.denist.run import SystemFiles
from review.languages.run import LanguagesFound
from review.near.run import NearDuplicates
from review.threads.run import ThreadsFound
from simulate.documents import SimulationDocument
from sql.browse import Search, Tag
from sql.review import Equal, Message, Near
from web.api.models.items import ChildCounts, Family, ItemDetails, ItemRow
from web.api.system import SignIn


class ShownItem(Document):
    """`edbench review item`: a finding that was not computed is null, and `unknown` has the reason."""

    item: ItemDetails
    family: Family
    duplicates: list[Equal] | None
    near_duplicates: list[Near] | None
    thread: list[Message] | None
    unknown: dict[str, str]


class ListedItem(ItemRow):
    """An item of `edbench review items`, with its database if several jobs are listed."""

    job: uuid.UUID | None = None  # type: ignore[assignment]
    database: str | None = None


class InspectedItem(Document):
    """An item of `edbench inspect`."""

    container_path: list[str]
    id: str
    parent: str | None
    name: str
    name_b64: str | None = None
    kind: Kind
    container: bool
    media_type: str
    bytes: int
    sha256: str | None
    text_state: TextState
    pages: int
    text: str
    metadata: dict[str, Any]
    exceptions: list[str]
    children: ChildCounts | None


class FormatLine(Document):
    """A format of `edbench formats`."""

    name: str
    extensions: list[str]
    text: str
    children: str
    announces: str
    details: dict[str, str]


class JobState(Document):
    """The state of a job or group after a command."""

    job: str
    state: str


class Written(Document):
    """A file that a command wrote."""

    path: str


class Sheet(Document):
    """The sheet of a result package, in TOML."""

    sheet: str


class Collected(Written):
    """Samples of a filer's counters."""

    name: str
    samples: int


class Removed(Document):
    """Counters of a job that were removed."""

    name: str
    removed_seconds: int


class CustodyRecord(Document):
    """One record of a list: an action, a parser set, an item or the end (docs/custody.md)."""

    model_config = ConfigDict(extra="allow")

    record: Literal["action", "parsers", "item", "end"]


class CheckedProduction(Document):
    """A production compared with its load files; a message for each fault."""

    records: int
    files: int
    faults: int
    load_files: list[str]
    messages: list[str]


class ImportedProduction(Document):
    """The records of a production that were imported; a message for each that was not, or that differs."""

    records: int
    natives: int
    texts: int
    bare: int
    attached: int
    faults: int
    wrong: int
    messages: list[str]


class RecordedTrace(TraceFigures):
    """A trace and its job."""

    job: str


class CorpusDescription(Document):
    """dataset.json of a corpus; besides these it counts items by what its profile varies."""

    model_config = ConfigDict(extra="allow")

    profile: str
    profile_version: int
    scale: float
    seed: int
    items: int
    loose_files: int
    raw_bytes: int
    discovered_bytes: int
    pages: int
    expansion: float
    items_per_raw_gb: float
    pages_per_item: float
    duplicates: int
    system_files: int
    custodians: dict[str, int]
    media_types: dict[str, int]
    distributions: dict[str, Any]
    wanted: dict[str, Any]
    content_hash: str
    hash: str


class ProfileLine(Document):
    """A corpus profile in the list."""

    name: str
    raw_bytes: int
    about: str


class Custodian(Document):
    """A custodian of a corpus profile."""

    name: str
    raw_bytes: int
    mail: str
    mail_bytes: int


class ProfileOutline(Document):
    """Outline of what a corpus profile generates at a scale; a total that it does not specify is 0."""

    name: str
    version: int
    about: str
    scale: float
    raw_bytes: int
    items: int
    pages: int
    discovered_bytes: int
    custodians: list[Custodian]
    shares: dict[str, dict[str, float]]
    types: dict[str, dict[str, float]]
    loose: dict[str, dict[str, float]]
    faults: dict[str, int]


class TestLine(Document):
    """A storage test in the list."""

    name: str
    report: str
    does: str


class Room(Document):
    """The space that a storage test needs on each path, and its time."""

    bytes: int
    files: int
    seconds: float


class TestDescription(TestLine):
    """A storage test."""

    writes: str
    needs: str
    room: Room
    settings: list[dict[str, str]]


class AllTests(Document):
    """The tests of `bench storage all`, each with its row of the page or the reason why it was not measured."""

    run_id: str
    paths: list[str]
    tests: list[dict[str, Any]]


def _schema(of: Any, description: str) -> dict[str, Any]:
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "description": description}
    schema = TypeAdapter(of).json_schema(mode="serialization")
    for record in (schema, *schema.get("$defs", {}).values()):
        if "properties" in record:
            record.setdefault("additionalProperties", False)  # rows of statements state none
    return schema | dialect


DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "verify": lambda: _schema(
        Verification | GroupVerified | ProductionVerification, "What `edbench verify -o json` prints."
    ),
    "job-list": lambda: _schema(list[ListedJob], "What `edbench job list -o json` prints."),
    "search": lambda: _schema(list[FoundItem] | list[Search], "What `edbench review search -o json` prints."),
    "item": lambda: _schema(ShownItem, "What `edbench review item -o json` prints."),
    "terms": lambda: _schema(HitReport, "What `edbench review terms -o json` prints."),
    "tag": lambda: _schema(TagChange | list[Tag], "What `edbench review tag -o json` prints."),
    "trace-record": lambda: _schema(list[RecordedTrace], "What `edbench trace record -o json` prints."),
    "corpus-profiles": lambda: _schema(
        list[ProfileLine] | ProfileOutline, "What `edbench corpus profiles -o json` prints."
    ),
    "corpus": lambda: _schema(CorpusDescription, "What `edbench corpus describe -o json` prints."),
    "storage-all": lambda: _schema(AllTests, "What `edbench bench storage all -o json` prints."),
    "storage-tests": lambda: _schema(
        list[TestLine] | TestDescription,
        "What `edbench bench storage -o json` prints without NAME, and with --describe.",
    ),
    "compare": lambda: _schema(Comparison, "What `edbench result compare -o json` prints."),
    "result": json_schema,
    "discover": lambda: _schema(JobFigures | GroupFigures, "What `edbench discover -o json` writes."),
    "job": lambda: _schema(JobDocument | GroupDocument, "What `edbench job show -o json` prints."),
    "trace-info": lambda: (
        msgspec.json.schema(TraceInfo)
        | {
            "description": "What `edbench trace info -o json` prints. Units are part of the names: _s seconds, _us microseconds."
        }
    ),
    "simulation": lambda: _schema(
        SimulationDocument, "What `edbench simulate -o json` prints, and `simulation.json` of its report."
    ),
    "plan": lambda: _schema(SizingDocument, "What `edbench bench plan -o json` writes."),
    "dedupe": lambda: _schema(Duplicates, "What `edbench review dedupe -o json` writes."),
    "denist": lambda: _schema(SystemFiles, "What `edbench review denist -o json` writes."),
    "near": lambda: _schema(NearDuplicates, "What `edbench review near-dup -o json` writes."),
    "languages": lambda: _schema(LanguagesFound, "What `edbench review languages -o json` writes."),
    "threads": lambda: _schema(ThreadsFound, "What `edbench review threads -o json` writes."),
    "token": lambda: _schema(SignIn, "What `edbench token -o json` prints."),
    "leftovers": lambda: _schema(list[Leftover], "What `edbench storage clean -o json` prints."),
    "items": lambda: _schema(list[ListedItem], "What `edbench review items -o json` prints."),
    "inspect": lambda: _schema(list[InspectedItem], "What `edbench inspect -o json` prints."),
    "formats": lambda: _schema(list[FormatLine], "What `edbench formats -o json` prints."),
    "job-state": lambda: _schema(JobState, "What `edbench job pause`, `cancel` and `delete` print with -o json."),
    "custody": lambda: _schema(list[CustodyRecord], "What `edbench job custody -o json` prints."),
    "corpus-check": lambda: _schema(corpus_check.Checked, "What `edbench corpus check -o json` prints."),
    "counters": lambda: _schema(
        Collected | Imported | Removed, "What `edbench counters collect` and `import` print with -o json."
    ),
    "result-check": lambda: _schema(result_check.Checked, "What `edbench result check -o json` prints."),
    "result-file": lambda: _schema(Written | Sheet, "What `edbench result describe` and `sign` print with -o json."),
    "scale": lambda: _schema(Scaled, "What `edbench scale -o json` prints."),
    "production-check": lambda: _schema(CheckedProduction, "What `edbench produce check -o json` prints."),
    "production-import": lambda: _schema(ImportedProduction, "What `edbench produce import -o json` prints."),
    "trace-export": lambda: _schema(Exported, "What `edbench trace export -o json` prints."),
    "trace-file": lambda: _schema(WrittenTrace, "What `edbench trace import` and `merge` print with -o json."),
    "doctor": lambda: _schema(list[Finding], "What `edbench doctor -o json` prints."),
}


def written(name: str) -> str:
    """Return the text of a schema's file."""
    return json.dumps(DOCUMENTS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in DOCUMENTS:
        file = ROOT / "docs" / "schemas" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(name), encoding="utf-8")
