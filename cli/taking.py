"""Options of commands made from records: `DiscoveryOrder` names, bounds and explains each option once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

from core.document import bounds


def taking(**only: Collection[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command has an option for each field of a parameter that is a document or a dataclass; of those named here only
    for some, and the others keep their default."""

    def made(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters
        parts = {name: list(_options(p.annotation, only.get(name))) for name, p in own.items()}

        @functools.wraps(function)
        def command(**given: Any) -> None:
            whole = {
                name: _made(own[name].annotation, {option.name: given.pop(option.name) for option in options})
                for name, options in parts.items()
                if options
            }
            function(**given, **whole)

        everything = [one for name, p in own.items() for one in parts[name] or [p.replace(kind=p.KEYWORD_ONLY)]]
        command.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
        command.__annotations__ = {}
        return command

    return made


def _options(kind: Any, only: Collection[str] | None) -> Iterator[inspect.Parameter]:
    """Of one parameter; none where it is an option itself."""
    if not isinstance(kind, type):
        return
    if issubclass(kind, BaseModel):
        for name, info in kind.model_fields.items():
            if only is None or name in only:
                default = inspect.Parameter.empty if info.is_required() else info.default
                yield _parameter(name, default, Annotated[info.annotation, _option(name, info)])
    elif is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        yield from (_parameter(field.name, field.default, hints[field.name]) for field in fields(kind))


def _made(kind: Any, given: dict[str, Any]) -> Any:
    # The command line has checked bounds and types; lengths and patterns are for strangers, who come over the API.
    return kind.model_construct(**given) if issubclass(kind, BaseModel) else kind(**given)


def _parameter(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str, info: FieldInfo) -> Any:
    given = next((each for each in info.metadata if isinstance(each, OptionInfo)), None)
    if given is not None:  # of a command's own field
        return given
    of = bounds(info)
    return typer.Option(
        f"--{name.replace('_', '-')}",
        help=info.description,
        min=of.get("ge"),
        max=of.get("le"),
        metavar=next((each.metavar for each in info.metadata if hasattr(each, "metavar")), None),
    )
