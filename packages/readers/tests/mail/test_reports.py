"""Inputs after public bug reports of other readers (support/mail_reports.py): what has to come out does."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from mail_reports import CASES, Case

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for


class Item(NamedTuple):
    """What is read of one item."""

    name: str
    data: bytes
    text: str
    metadata: dict[str, Any]
    errors: list[str]


def items(name: bytes, data: bytes, declared: str | None = None) -> Iterator[Item]:
    """The item and all inside it."""
    source, errors = MemorySource(name, data), []
    handler = handler_for(identify(source, declared))
    text, metadata = "", {}
    try:
        found = handler.text(source, Limits())
        text, metadata = found.text, found.metadata
        errors += [str(found.error)] if found.error else []
    except DocumentError as error:
        errors.append(str(error))
    try:
        for child in handler.children(source, Limits()):
            errors += [str(child.error)] if child.error else []
            content = child.stream.read() if child.stream is not None else child.data
            if content is not None:
                yield from items(child.name, content, child.media_type)
    except DocumentError as error:
        errors.append(str(error))
    yield Item(name.decode("utf-8", "replace"), data, text, metadata, errors)


def is_found(wanted: str, found: list[Item]) -> bool:
    kind, _, rest = wanted.partition(":")
    key, _, expected = rest.partition("=")
    if kind == "absent":
        return not is_found(rest, found)
    if kind == "child":
        return any(item.name == rest for item in found)
    if kind == "bytes":
        return any(item.data.hex() == rest for item in found)
    if kind == "meta":
        return any(expected in str(item.metadata.get(key, "")) for item in found)
    if wanted == "reported":
        return any(item.errors for item in found)
    return any(wanted in item.text + json.dumps(item.metadata, ensure_ascii=False) for item in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.report)
def test_what_the_report_missed_is_found(case: Case) -> None:
    found = list(items(case.name.encode(), case.data))
    assert [wanted for wanted in case.wanted if not is_found(wanted, found)] == []
