"""Write docs/schemas/*.json from the records that documents are written and read with: `make schemas`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from pydantic import TypeAdapter

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 — the directory above is where they are found
from controller.doctor import Finding
from controller.jobs.documents import GroupDocument, JobDocument
from controller.jobs.figures import GroupFigures, JobFigures
from experiments.capacity.forecast import PredictionDocument
from experiments.result.json_schema import json_schema
from experiments.sizing.steps import SizingDocument
from review.dedupe.run import Duplicates
from review.denist.run import SystemFiles
from review.languages.run import LanguagesFound
from review.near.run import NearDuplicates
from review.threads.run import ThreadsFound
from traces.as_data import TraceInfo


def _schema(of: Any, description: str) -> dict[str, Any]:
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema", "description": description}
    return TypeAdapter(of).json_schema(mode="serialization") | dialect


DOCUMENTS = {
    "result": json_schema,
    "discover": lambda: _schema(JobFigures | GroupFigures, "What `edbench discover -o json` writes."),
    "job": lambda: _schema(JobDocument | GroupDocument, "What `edbench job show -o json` prints."),
    "trace-info": lambda: (
        msgspec.json.schema(TraceInfo)
        | {
            "description": "What `edbench trace info -o json` prints. Units are part of the names: _s seconds, _us microseconds."
        }
    ),
    "prediction": lambda: _schema(PredictionDocument, "What `edbench bench predict -o json` writes."),
    "plan": lambda: _schema(SizingDocument, "What `edbench bench plan -o json` writes."),
    "dedupe": lambda: _schema(Duplicates, "What `edbench review dedupe -o json` writes."),
    "denist": lambda: _schema(SystemFiles, "What `edbench review denist -o json` writes."),
    "near": lambda: _schema(NearDuplicates, "What `edbench review near-dup -o json` writes."),
    "languages": lambda: _schema(LanguagesFound, "What `edbench review languages -o json` writes."),
    "threads": lambda: _schema(ThreadsFound, "What `edbench review threads -o json` writes."),
    "doctor": lambda: _schema(list[Finding], "What `edbench doctor -o json` prints."),
}


def written(name: str) -> str:
    """The text of a schema's file."""
    return json.dumps(DOCUMENTS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in DOCUMENTS:
        file = ROOT / "docs" / "schemas" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(name), encoding="utf-8")
