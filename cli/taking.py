"""Options of commands made from records: `DiscoveryOrder` names, bounds and explains each option once, and checks it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typer.models import OptionInfo

from core.document import bounds, complaint
from core.errors import UsageError


def taking(**only: Collection[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command has an option for each field of a parameter that is a document; of those named here only for some, and the
    others keep their default. What the document refuses is a UsageError that names the option."""

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
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return
    for name, info in kind.model_fields.items():
        if only is None or name in only:
            default = inspect.Parameter.empty if info.is_required() else info.default
            yield inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[info.annotation, _option(name, info)],
            )


def _made(kind: type[BaseModel], given: dict[str, Any]) -> BaseModel:
    """Checked by the model itself, as what comes over the API is: the bounds that options show are for the help."""
    try:
        return kind(**given)
    except ValidationError as error:
        field, said = complaint(error)
        raise UsageError(f"{_flag(field)}: {said}" if field else said, field=field) from error


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, info: FieldInfo) -> Any:
    given = next((each for each in info.metadata if isinstance(each, OptionInfo)), None)
    if given is not None:  # of a command's own field
        return given
    of = bounds(info)
    return typer.Option(
        _flag(name),
        help=info.description,
        min=of.get("ge"),
        max=of.get("le"),
        metavar=next((each.metavar for each in info.metadata if hasattr(each, "metavar")), None),
    )
