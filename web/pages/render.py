"""Renders templates; all values are escaped."""

from __future__ import annotations

from http import HTTPStatus
from importlib import import_module
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from core.extensions import extensions
from core.records import JobState
from web.auth import cookie_name, door_of
from web.pages.filters import FILTERS, explained, label_of, short_label, shown

TEMPLATES = Path(__file__).parents[1] / "templates"


def _templates_of_packages() -> list[Path]:
    """Folders of templates that optional packages bring."""
    roots = {module.partition(".")[0] for modules in extensions("edbench.web").values() for module in modules}
    return [Path(str(import_module(root).__file__)).parent / "templates" for root in sorted(roots)]


def environment() -> Environment:
    """The Jinja environment: with autoescape, and undefined names are errors."""
    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *_templates_of_packages()]),
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


def error_page(request: Request, status: int, line: str) -> Response:
    """The page for an error; where waiting helps (503) the browser reloads it every few seconds."""
    passing = status == HTTPStatus.SERVICE_UNAVAILABLE
    title = "One moment" if passing else HTTPStatus(status).phrase
    return page(request, "error.html", status=status, title=title, line=line, passing=passing)
