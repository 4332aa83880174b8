"""The form that creates a job: an input for each field of the API's model, which has them of `DiscoveryOrder`.

Where the data lie (`corpus`, `source`) the template asks itself.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args

from pydantic.fields import FieldInfo

from controller.jobs.orders import DiscoveryOrder
from core.document import bounds
from core.records import FsyncPolicy, Layout
from web.api.models.jobs import NewJob
from web.api.models.system import Choices

_KINDS = ("text", "number", "choice", "lines", "check")  # in the order of the page
_TEMPLATES = {"corpus", "source"}
_WORKERS = {"workers", "slots"}  # asked for where the server starts them
_HINTS = {"slots": "", "passwords": "one a line; tried on encrypted items, shown nowhere afterwards"}
_WORDS: Mapping[str, str] = {
    FsyncPolicy.TASK: "once a task",
    FsyncPolicy.FILE: "every file",
    Layout.SHARED: "shared by all workers",
    Layout.PER_WORKER: "a folder for each worker",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One field of the form."""

    name: str
    kind: str  # one of _KINDS
    label: str
    hint: str
    value: Any
    attributes: Mapping[str, Any]  # its bounds, as HTML has them
    options: Sequence[tuple[str, str]] = ()  # of a choice: value and text


def inputs(model: type[NewJob], choices: Choices) -> list[Input]:
    """Those of the model's fields, with what may be chosen on this server."""
    hidden = _TEMPLATES if choices.embedded else _TEMPLATES | _WORKERS
    fields = [_input(name, info, choices) for name, info in model.model_fields.items() if name not in hidden]
    # What is of the API alone, such as workers, stands before what the order has.
    return sorted(fields, key=lambda each: (_KINDS.index(each.kind), each.name in DiscoveryOrder.model_fields))


def _input(name: str, info: FieldInfo, choices: Choices) -> Input:
    options, limits = _options(name, info, choices), bounds(info)
    hint, _, default = (info.description or "").partition("  [default: ")
    if default and not options:
        hint += f"; default: {default.removesuffix(']')}"
    if name == "databases":
        there = len(choices.databases)
        hint, limits["le"] = f"{hint}; there {'is' if there == 1 else 'are'} {there}", min(limits["le"], there)
    here = {key: getattr(choices, key) for key in ("workers", "slots", "filer", "index_engine")}
    beside = {"workers": f"room for {choices.room} slots in all"} | _HINTS
    attributes = {"ge": "min", "le": "max", "max_length": "maxlength"}
    return Input(
        name=name,
        kind="choice" if options else _kind(info),
        label=info.title or name.replace("_", " ").capitalize(),
        hint=beside.get(name, hint),
        value=here.get(name, info.default),
        attributes={attributes[key]: value for key, value in limits.items()},
        options=options,
    )


def _options(name: str, info: FieldInfo, choices: Choices) -> list[tuple[str, str]]:
    """Of what is one of a few: each value with its text."""
    here = {"filer": choices.filers, "index_engine": choices.index_engines}
    of = _type(info)
    values = list(of) if isinstance(of, enum.EnumType) else here.get(name, [])
    return [(str(value), _WORDS.get(value, str(value))) for value in values]


def _kind(info: FieldInfo) -> str:
    return {bool: "check", int: "number", float: "number", str: "text"}.get(_type(info), "lines")


def _type(info: FieldInfo) -> Any:
    """Without the None of what may be left unsaid."""
    return next((kind for kind in get_args(info.annotation) if kind is not NoneType), info.annotation)
