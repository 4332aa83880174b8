"""Filters of a list of items in the address of a page; empty text means no filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Depends, Query

from controller.browse.item_filter import ItemFilter
from core.records import Kind, TextState
from web.api import items as api
from web.api.models.common import Filter

_WORDS = {"yes": True, "no": False}


def _chosen(
    custodian: Filter = None,
    type: Filter = None,
    exception: Annotated[str, Query(max_length=50)] = "",
    kind: Kind | Literal[""] = "",
    text: TextState | Literal[""] = "",
    where: Annotated[str, Query(max_length=2_000)] = "",
    language: Annotated[str, Query(max_length=20)] = "",
    duplicate: Literal["", "yes", "no"] = "",
    near: Literal["", "yes", "no"] = "",
    system: Literal["", "yes", "no"] = "",
) -> dict[str, str]:
    return {
        "custodian": custodian or "",
        "type": type or "",
        "exception": exception,
        "kind": str(kind),
        "text": str(text),
        "where": where.strip(),
        "language": language,
        "duplicate": duplicate,
        "near": near,
        "system": system,
    }


Chosen = Annotated[dict[str, str], Depends(_chosen)]


def filter_of(given: Mapping[str, str]) -> ItemFilter:
    """The filter of those that are given. Raises FieldErrors."""
    kind, text = given.get("kind"), given.get("text")
    wanted: dict[str, Any] = {
        name: given.get(name) for name in ("custodian", "type", "exception", "language") if given.get(name)
    }
    wanted |= {name: _WORDS[given[name]] for name in ("duplicate", "near", "system") if given.get(name)}
    return api.item_filter(
        kind=Kind(kind) if kind else None,
        text=TextState(text) if text else None,
        where=given.get("where", "").replace("\0", " "),
        **wanted,
    )
