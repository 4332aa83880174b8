"""Write docs/settings.md from the options of a discovery and the environment variables: `make settings-page`."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 — imports from the directory above
from controller.jobs.orders import DiscoveryOrder, OperatorOrder
from core.document import bounds
from core.variables import VARIABLES, Variable

PAGE = ROOT / "docs" / "settings.md"
_KINDS = {bool: "yes or no", int: "whole number", float: "number", str: "text", list[str]: "texts"}


def written() -> str:
    """Return the page's text."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield from ("# Settings", "")
    yield "Made by `make settings-page` from `DiscoveryOrder` (`controller/jobs/orders.py`) and the table of variables"
    yield "(`core/variables.py`); tests compare the page with them, and the command, the API and the form of the web UI with the former."
    yield from ("", "## Options of a discovery", "")
    yield "`edbench discover` has all of them; an experiment has those that it does not vary. Those with a name in the API are fields of"
    yield "POST /api/v1/jobs and of the form in the web UI ([web.md](web.md)); the others exist on the command line only. An option"
    yield "overrides its variable."
    yield ""
    options = (_option(name, info) for name, info in OperatorOrder.model_fields.items())
    yield from _table(("Option", "In the API", "Value", "Default", "Variable", "What it is"), options)
    yield from ("", "## Environment variables", "")
    yield "None has to be set. What only containers know of (ports, images, users) is in `.env.example` and"
    yield "[containers.md](containers.md)."
    yield ""
    rows = ((f"`{each.name}`", each.meaning, each.default and f"`{each.default}`") for each in VARIABLES.values())
    yield from _table(("Variable", "Meaning", "Default"), rows)


def _option(name: str, info: FieldInfo) -> tuple[str, ...]:
    text, _, default = (info.description or "").partition("  [default: ")
    variable = next((each for each in info.metadata if isinstance(each, Variable)), Variable("", ""))
    plain = "no" if info.default is False else "" if info.default is None else str(info.default)
    default = variable.default or default.removesuffix("]") or plain
    api = f"`{name}`" if name in DiscoveryOrder.model_fields else ""
    environment = f"`{variable.name}`" if variable.name else ""
    return f"`--{name.replace('_', '-')}`", api, _value(info), default, environment, text


def _value(info: FieldInfo) -> str:
    """Return type and bounds."""
    of: Any = (*get_args(info.annotation), info.annotation)[0]
    if isinstance(of, enum.EnumType):
        values: list[Any] = list(of)
        return ", ".join(f"`{each}`" for each in values)
    limits = bounds(info)
    words = [_KINDS[of]]
    if "ge" in limits:
        words.append(f"{limits['ge']:,} to {limits['le']:,}" if "le" in limits else f"{limits['ge']:,} or more")
    if "max_length" in limits:
        words.append(f"at most {limits['max_length']:,} characters")
    return ", ".join(words)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
