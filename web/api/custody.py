"""A job's chain of custody, as `edbench job custody` prints it."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from controller.custody import action_records, ended, items_of, parser_records
from web.api.exceptions import spooled_lines
from web.api.models.common import responses
from web.api.needs import ActedOn

_LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["custody"])


@router.get("/jobs/{job}/custody.jsonl", response_class=StreamingResponse, responses=responses(404, 422) | _LINES)
def custody(jobs: ActedOn, actions: bool = False) -> StreamingResponse:
    """The chain of custody as JSON lines: operator actions, each with a hash over itself and the one before; then, unless
    `actions` is set, the parsers of the workers and every item with its hashes, parser and task; at the end the counts."""
    read = () if actions else chain(parser_records(jobs.each), items_of(jobs.each))
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in ended(chain(action_records(jobs.each), read)))
    return spooled_lines(f"custody-{jobs.id}.jsonl", "application/jsonl", lines)
