"""A job's chain of custody, as `edbench job custody` prints it."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from controller.custody.report import actions_told, ended, items_of, parsers_told
from web.api.csv_answer import spooled
from web.api.models.common import responses
from web.api.needs import ActedOn

_LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}}

router = APIRouter(tags=["custody"])


@router.get("/jobs/{job}/custody.jsonl", response_class=StreamingResponse, responses=responses(404, 422) | _LINES)
def custody(jobs: ActedOn, actions: bool = False) -> StreamingResponse:
    """JSON lines: what operators did, each with its hash over itself and the one before, then (unless `actions`) the parsers
    of the workers, and every item as it was read, with its hashes, and the parser and task that read it; at the end how many
    actions and items these are."""
    read = () if actions else chain(parsers_told(jobs.each), items_of(jobs.each))
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in ended(chain(actions_told(jobs.each), read)))
    return spooled(f"custody-{jobs.id}.jsonl", "application/jsonl", lines)
