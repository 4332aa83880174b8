"""Write docs/schemas/*.json from the dataclasses that documents are read with: `make schemas`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from experiments.result.json_schema import json_schema  # noqa: E402 — the directory above is where it is found

DOCUMENTS = {"result": json_schema}


def written(name: str) -> str:
    """The text of a schema's file."""
    return json.dumps(DOCUMENTS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in DOCUMENTS:
        file = ROOT / "docs" / "schemas" / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(written(name), encoding="utf-8")
