"""Forms: an input for each field of the API's model, whose fields are those of the commands' options.

The inputs of the source (`corpus`, `source`) are in the template."""

from __future__ import annotations

import dataclasses
import enum
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from fastapi import APIRouter, Query, Request, Response
from pydantic.fields import FieldInfo

from controller.jobs.orders import DiscoveryOrder
from core.document import Document, bounds
from core.options import TUNING
from core.records import FsyncPolicy, Layout
from web.api import measure as api
from web.api import system
from web.api.needs import Context, Rows
from web.api.system import Choices
from web.errors import NotFound
from web.measuring import kinds
from web.pages.render import page

_KINDS = ("text", "number", "choice", "lines", "check")  # in this order
_TEMPLATES = {"corpus", "source", "type", "sources", "profile", "paths", "setting", "job", "result"}
_WORKERS = {"workers", "slots"}  # shown where the server starts them
JOB = frozenset(("name", "workers"))  # the fields of a new job that are not under "Advanced"
_TUNING = TUNING | {  # the fields of any other form that are under "Advanced"
    *("client", "project", "index_engine", "time_zone", "slots", "shard", "source_copies", "seed", "levels"),
    *("digits", "first", "volume_gb", "dat_encoding", "no_families", "trace"),
}
_HINTS = {
    "slots": "",
    "passwords": "one per line; tried on encrypted items, never shown again",
    "withhold": "tags, one per line; items with one of them are withheld with their families",
}
_WORDS: Mapping[str, str] = {
    FsyncPolicy.TASK: "once per task",
    FsyncPolicy.FILE: "every file",
    Layout.SHARED: "shared by all workers",
    Layout.PER_WORKER: "a directory per worker",
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
    advanced: bool  # whether most users leave it alone
    options: Sequence[tuple[str, str]] = ()  # of a choice: value and text


def inputs(
    model: type[Document], choices: Choices, *, but: Collection[str] = (), common: Collection[str] | None = None
) -> list[Input]:
    """The inputs for the model's fields with the choices of this server, except `but`; all except `common` are
    advanced."""
    hidden = {*_TEMPLATES, *but} if choices.embedded else {*_TEMPLATES, *_WORKERS, *but}
    common = set(model.model_fields) - _TUNING if common is None else common
    fields = [
        _input(name, info, choices, name not in common)
        for name, info in model.model_fields.items()
        if name not in hidden
    ]
    # Fields of the API alone, such as workers, come first.
    return sorted(fields, key=lambda each: (_KINDS.index(each.kind), each.name in DiscoveryOrder.model_fields))


def _input(name: str, info: FieldInfo, choices: Choices, advanced: bool) -> Input:
    options, limits = _options(name, info, choices), bounds(info)
    hint, _, default = (info.description or "").partition("  [default: ")
    if default and not options:
        hint += f" Default: {default.removesuffix(']')}."
    if name == "databases" and "le" in limits:
        there = len(choices.databases)
        hint, limits["le"] = f"{hint}; {there} available", min(limits["le"], there)
    here = {key: getattr(choices, key) for key in ("workers", "slots", "filer", "index_engine")}
    if info.default is not None or default:  # the field has its own default
        del here["workers"], here["slots"]
    hints = ({"workers": f"at most {choices.room} slots in total"} if "workers" in here else {}) | _HINTS
    attributes = {"ge": "min", "le": "max", "max_length": "maxlength"}
    return Input(
        name=name,
        kind="choice" if options else _kind(info),
        label=info.title or name.replace("_", " ").capitalize(),
        hint=hints.get(name, hint).replace("`", ""),
        value=here.get(name, None if info.is_required() else info.default),
        attributes={attributes[key]: value for key, value in limits.items()},
        advanced=advanced,
        options=options,
    )


def _options(name: str, info: FieldInfo, choices: Choices) -> list[tuple[str, str]]:
    """The values of a choice with their texts."""
    here = {"filer": choices.filers, "index_engine": choices.index_engines}
    of = _type(info)
    few = list(of) if isinstance(of, enum.EnumType) else list(get_args(of)) if get_origin(of) is Literal else []
    values = few or here.get(name, [])
    return [(str(value), _WORDS.get(value, str(value))) for value in values]


def _kind(info: FieldInfo) -> str:
    return {bool: "check", int: "number", float: "number", str: "text"}.get(_type(info), "lines")


def _type(info: FieldInfo) -> Any:
    """The type without None."""
    if get_origin(info.annotation) is Literal:
        return info.annotation
    return next((kind for kind in get_args(info.annotation) if kind is not NoneType), info.annotation)


router = APIRouter()


@router.get("/measure")
def measure(
    request: Request,
    context: Context,
    rows: Rows,
    kind: Annotated[str, Query(max_length=40)] = "scale-up",
) -> Response:
    """The form of one kind, and the list."""
    known = kinds()
    if kind not in known:
        raise NotFound(f"measurement {kind!r} does not exist; the kinds are {', '.join(known)}")
    listed = api.list_measurements(context)
    choices = system.choices(context)
    form = inputs(known[kind].model, _any(choices)) if not listed.refused else []
    return page(
        request,
        known[kind].template,
        listed=listed,
        kinds=list(known.values()),
        kind=known[kind],
        form=form if choices.embedded else connected(form, choices.workers),
        corpora=system.corpora(context),
        **known[kind].shown(context, rows, request.query_params),
    )


def connected(fields: Sequence[Input], workers: int) -> list[Input]:
    """Limit the default numbers of workers of an experiment to the connected ones, whose number comes last."""

    def points(text: str) -> str:
        given = text.split(",")
        fewer = [point for point in given if int(point) < workers]
        return ",".join([*fewer, str(workers)]) if fewer and len(fewer) < len(given) else text

    return [
        dataclasses.replace(each, value=points(each.value))
        if each.name == "workers" and isinstance(each.value, str)
        else each
        for each in fields
    ]


def _any(choices: Choices) -> Choices:
    """The choices with any number of workers and any emulated filer: an experiment sets both, a server in a container
    neither."""
    return choices.model_copy(update={"embedded": True, "filers": system.filers()})


@router.get("/measurements/{measurement}")
def one(request: Request, context: Context, measurement: uuid.UUID) -> Response:
    """One measurement with the end of its output."""
    found = api.one_measurement(context, measurement)
    return page(
        request,
        "measurement.html",
        measurement=found,
        log=context.measurements.log(measurement),  # type: ignore[union-attr]
    )
