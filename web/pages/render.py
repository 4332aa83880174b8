"""Renders templates; all values are escaped. Filters write numbers with their units, and text of unknown origin on one visible line."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from controller.jobs import progress
from controller.labels.rules import advice_on
from core.extensions import extensions
from core.names import display_name
from core.records import JobState
from core.texts import many
from experiments.report import words
from web.api.models.items import ItemDetails
from web.auth import cookie_name, door_of

MOST_LETTERS = 44  # of a label
MEANINGS = {
    "EMULATED FILER": "An emulated filer delayed the storage calls, so the figures are not those of real storage.",
    "CACHED": "Fewer than three times as many different bytes were touched as caches can hold, so caches may have answered.",
    "SHORT": "A run was shorter than required, so start-up effects and caches are in the figures.",
    "NOT STEADY": "The rate changed while it was measured, so its mean does not describe the storage.",
    "LEAST LENGTH LOWERED": "The operator allowed runs that are shorter than the rule requires.",
    "FILER CACHE UNDECLARED": "The storage may have a cache of unknown size, so CACHED cannot be determined.",
    "NO BASELINE": "No run on null storage shows the generator's own time, so the limit of the run is unknown.",
    "GENERATOR-LIMITED": "The workers or their host limited the run, so the figures say nothing about the storage.",
    "PAUSED": "The job was paused by an operator, so caches may have changed in between.",
    "SUSPENDED": "A fault stopped the job for some time, which its elapsed time includes.",
    "DATABASE AWAY": "A database did not answer for some time, which the elapsed time includes.",
    "WORKERS CHANGED": "The workers of the job changed between start and end.",
    "SOURCE NOT ON THE STORAGE UNDER TEST": "The source is on other storage than the one that the job writes to.",
    "NOT COMPARABLE": "The results differ in a condition that must be equal, or one fails its check.",
}


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a table: its name, its anchor, and the sentences about it."""

    name: str
    meaning: str
    advice: str

    @property
    def anchor(self) -> str:
        """The anchor, for the fragment of an address."""
        return self.name.lower().replace(" ", "-")


def explained() -> list[Label]:
    """All labels that have an explanation."""
    return [
        Label(name, meaning, "; ".join(line.partition(": ")[2] for line in advice_on([name])))
        for name, meaning in MEANINGS.items()
    ]


def short_label(text: str) -> str:
    """The beginning of a label that fits; its tooltip has all of it."""
    return re.split("[:,(]", text, maxsplit=1)[0].strip() if len(text) > MOST_LETTERS else text


def label_of(text: str) -> Label | None:
    """The label that a text begins with; None for a plain remark."""
    return next((label for label in explained() if text.startswith(label.name)), None)


MISSING = "–"


def plain(value: object) -> str:
    """Text on one line in which nothing hides: control characters, line ends and overrides of direction are spelled
    out as in file names. Escaping is the template's."""
    return display_name(str(value).encode("utf-8", "backslashreplace"))


def spaced(value: object) -> str:
    """A name such as `completed_with_exceptions` as words."""
    return str(value).replace("_", " ")


def count(value: float | None) -> str:
    """A number such as 12,346."""
    return MISSING if value is None else words.count(value)


def figure(value: float | None) -> str:
    """A number with three significant digits."""
    return MISSING if value is None else words.figure(value)


def size(value: float | None) -> str:
    """Bytes in a suitable unit."""
    return MISSING if value is None else words.size(value)


def duration(value: float | None) -> str:
    """Seconds as `3 min 20 s`."""
    return MISSING if value is None else progress.duration(value)


def share(value: float | None) -> str:
    """A share such as 0.43 as `43 %`, rounded down, so that only completed work shows 100 %."""
    return MISSING if value is None else progress.percent(value)


def moment(value: datetime.datetime | float | None) -> str:
    """A moment to the second, in UTC; floats are seconds since the epoch."""
    if value is None:
        return MISSING
    at = value if isinstance(value, datetime.datetime) else datetime.datetime.fromtimestamp(value, datetime.UTC)
    return f"{at.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def kind_title(kind: str) -> str:
    """The name of a kind of measurement for people."""
    return "storage test" if kind == "profile" else kind


def narrowed(query: str, field: str, name: str) -> str:
    """The query with one more condition: a field that has exactly this name."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'({query}) AND {field}:"{quoted}"'


FILTERS: dict[str, Callable[..., object]] = {
    each.__name__: each
    for each in (plain, spaced, count, many, figure, size, duration, share, moment, kind_title, narrowed)
}


def pairs_of(item: ItemDetails) -> list[tuple[str, str]]:
    """Names and values without unknown ones."""
    return [(name, value) for name, value in _known(item) if value]


def _known(item: ItemDetails) -> Iterator[tuple[str, str]]:
    yield "id", str(item.id)
    yield "kind", spaced(item.kind.value) + (", container" if item.container else "")
    yield "media type", item.media_type
    yield "size", f"{size(item.bytes)} ({count(item.bytes)} bytes)" if item.bytes >= 1000 else f"{item.bytes} bytes"
    yield "modified", moment(item.mtime_ns / 1e9) if item.mtime_ns is not None else ""
    yield "sha256", item.sha256 or ""
    yield "content hash", item.content_hash or ""
    yield "Message-ID hash", item.message_id_hash or ""
    yield "text", spaced(item.text_state.value) if item.text_state else ""
    yield "pages", count(item.pages) if item.pages else ""
    yield "path in the source", item.path or ""
    yield "written to", item.location or ""
    yield "name (base64)", item.name_b64 or ""
    yield "children", _children(item)


def _children(item: ItemDetails) -> str:
    of = item.children
    if of is None:
        return ""
    announced = "not announced" if of.announced is None else f"{count(of.announced)} announced"
    cut = "; cut short, so some are unknown" if of.remainder_unknown else ""
    return f"{announced}, {count(of.emitted)} emitted, {count(of.failed)} failed{cut}"


def shown(value: Any) -> str:
    """A metadata value on one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False)


TEMPLATES = Path(__file__).parents[1] / "templates"


def environment() -> Environment:
    """The Jinja environment: with autoescape, and undefined names are errors. Optional packages bring
    templates too."""
    roots = {module.partition(".")[0] for modules in extensions("edbench.web").values() for module in modules}
    packages = [Path(str(import_module(root).__file__)).parent / "templates" for root in sorted(roots)]
    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= FILTERS | {"metadata": shown, "label_of": label_of, "short_label": short_label}
    made.globals |= {
        "shown_page": None,
        "packages": list(extensions("edbench.web")),
        "label_meanings": {label.name: label.meaning for label in explained()},
        "finished": [state.value for state in JobState if state.over],
        "resting": [s.value for s in JobState if s.over or s in (JobState.PAUSED, JobState.SUSPENDED)],
    }
    return made


_ENVIRONMENT = environment()


def page(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    """Render a template."""
    signed_in = door_of(request).admits(request.cookies.get(cookie_name(request), ""))
    shown_instead = getattr(request.app.state.context, "shown", None)
    known = {"signed_in": signed_in, "section": "", "shown_page": shown_instead}
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(known | values), status)


_TITLES = {409: "Not possible now", 422: "Not valid"}  # HTTP's own words are for programs


def error_page(request: Request, status: int, line: str) -> Response:
    """The page for an error; if waiting helps (503), the browser reloads it every few seconds."""
    passing = status == HTTPStatus.SERVICE_UNAVAILABLE
    title = "One moment" if passing else _TITLES.get(status, HTTPStatus(status).phrase)
    around = getattr(request.state, "discovery", None) if "item" in request.path_params else None
    return page(request, "error.html", status=status, title=title, line=plain(line), passing=passing, around=around)
