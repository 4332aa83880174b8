"""What `edbench item` shows; imported while the services start."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import harmless, print_json
from cli.show.table import table
from controller.browse.pages import FAMILY_SHOWN, family_tree, find_item, item_called, item_details
from controller.browse.texts import item_text
from controller.databases import JobHandle
from core.document import Document
from core.errors import UsageError
from core.names import display_name
from review.one_item import equals_of, near_of, thread_of
from sql.faces.browse import WholeItem

_FINDINGS: Mapping[str, Callable[..., Sequence[Document]]] = {
    "duplicates": equals_of,
    "near_duplicates": near_of,
    "thread": thread_of,
}
_PATH = "container_path"


def show_text(installed: Installation, job: str, reference: str) -> None:
    """The whole text; on a terminal without what would drive it."""
    handle, row = _found(installed, job, reference)
    text = item_text(handle, installed.settings, row)
    if text is None:
        raise UsageError(f"nothing was indexed of item {row.id}: it is {row.kind}, {row.media_type}, without a text")
    if sys.stdout.isatty():
        text = harmless(text)
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def show_item(context: CommandContext, installed: Installation, job: str, reference: str, as_json: bool) -> None:
    """Everything else, as the page has it."""
    told = _told(installed, *_found(installed, job, reference))
    if as_json:
        print_json(told)
        return
    out = context.out
    out.print(table(("item", told["item"]["id"]), _rows(told["item"]), whole=(0,)))
    out.print(table(("", "family", "item", "type", "bytes"), _family(told["family"]), right=(4,)))
    if told["family"]["truncated"]:
        context.say(f"only the first {FAMILY_SHOWN:,} of its family are shown")
    columns = {"duplicates": "copy_of", "near_duplicates": "similarity", "thread": "sent_at"}
    for name, first in columns.items():
        if rows := told[name]:
            shown = (
                (_plain(one[first]), one["item"][:8], one["custodian"], "  " * one.get("depth", 0) + _line(one))
                for one in rows
            )
            out.print(table((name.replace("_", "-"), "item", "custodian", "container path"), shown))
    for name, why in told["unknown"].items():
        context.say(f"{name.replace('_', '-')}: {why}")


def _found(installed: Installation, job: str, reference: str) -> tuple[JobHandle, WholeItem]:
    handles = installed.find_discovered(job).each
    return find_item(handles, item_called(handles, reference))


def _told(installed: Installation, handle: JobHandle, row: WholeItem) -> dict[str, Any]:
    """In plain data. What nobody has looked for is None, and `unknown` says with which command."""
    details = item_details(handle, row)
    details["tags"] = [tag | {"tagged_at": tag["tagged_at"].isoformat()} for tag in details["tags"]]
    told: dict[str, Any] = {"item": details, "family": family_tree(handle, row)}
    unknown: dict[str, str] = {}
    for name, find in _FINDINGS.items():
        told[name] = None
        try:
            told[name] = [one.to_json() for one in find(handle, row.id, installed.databases)]
        except UsageError as error:
            unknown[name] = str(error)
    return told | {"unknown": unknown}


def _rows(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A line for each thing that is known: of exceptions and tags one for each of them, then the metadata."""
    beside = ("id", _PATH, "exceptions", "failures", "tags", "metadata")
    yield "path", _line(item)
    for name, value in item.items():
        if name not in beside and value is not None:
            yield name.replace("_", " "), _plain(value)
    for each in item["failures"]:
        yield "exception", _plain(f"{each['code']} ({each['level']}, {each['phase']}): {each['detail']}")
    for each in item["tags"]:
        yield "tag", f"{each['tag']}, by {each['tagged_by']} at {each['tagged_at']}"
    for name, value in item["metadata"].items():
        yield f"metadata {name}", _plain(value)


def _family(family: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, int]]:
    """What it lies in, then its family; an arrow stands before the item itself."""
    for one in (*family["ancestors"], *family["members"]):
        here, name = "→" if one["id"] == family["item"] else "", _plain(one["name"])
        yield here, "  " * one["depth"] + name, one["id"][:8], one["media_type"], one["bytes"]


def _line(one: Mapping[str, Any]) -> str:
    return _plain(" / ".join(one[_PATH]))


def _plain(value: object) -> str:
    """On one line, without what would drive a terminal: it comes from evidence."""
    text = "; ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    return display_name(text.encode("utf-8", "surrogatepass"))
