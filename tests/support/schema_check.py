"""A document held against its schema under docs/schemas."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def refuse_unlike_schema(name: str, document: Any) -> None:
    """AssertionError that names the first places where the document is not as docs/schemas/NAME.json says."""
    plain = json.loads(json.dumps(document))
    valid = jsonschema_rs.validator_for(json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8")))
    assert not (wrong := [str(error) for error in valid.iter_errors(plain)][:3]), wrong
    if isinstance(plain, dict):
        assert not valid.is_valid(plain | {"surplus": 1}) or name == "trace-info"  # TypedDicts are open
        assert not any(valid.is_valid({k: v for k, v in plain.items() if k != key}) for key in list(plain)[:3])
