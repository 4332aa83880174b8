"""Plain JSON data into frozen dataclasses, with every type checked and the place of a mistake named."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar

from core.errors import UsageError

T = TypeVar("T")


def decode(kind: type[T], data: object, where: str = "result") -> T:
    """`data` as a `kind`; raises UsageError naming the field that is missing, unknown or of a wrong type."""
    return typing.cast(T, _value(kind, data, where))


def _value(kind: Any, data: object, where: str) -> Any:
    if kind is Any:
        return data
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _object(kind, data, where)
    if origin in (types.UnionType, typing.Union):
        return _union(parts, data, where)
    if origin is tuple:
        return _tuple(parts, data, where)
    if origin is dict:
        checked = _expect(data, dict, where, "an object")
        return {_value(parts[0], k, f"{where} key"): _value(parts[1], v, f"{where}.{k}") for k, v in checked.items()}
    return _scalar(kind, data, where)


def _object(kind: Any, data: object, where: str) -> Any:
    checked = _expect(data, dict, where, "an object")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(checked) - set(hints))
    if unknown:
        raise UsageError(f"{where}: unknown field {unknown[0]!r}")
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in checked:
            values[field.name] = _value(hints[field.name], checked[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UsageError(f"{where}: field {field.name!r} is missing")
    return kind(**values)


def _union(parts: tuple[Any, ...], data: object, where: str) -> Any:
    if data is None:
        if type(None) in parts:
            return None
        raise UsageError(f"{where}: null is not allowed here")
    (one,) = (part for part in parts if part is not type(None))
    return _value(one, data, where)


def _tuple(parts: tuple[Any, ...], data: object, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list | tuple):
        raise UsageError(f"{where}: a list is expected")
    if len(parts) == 2 and parts[1] is Ellipsis:
        return tuple(_value(parts[0], one, f"{where}[{i}]") for i, one in enumerate(data))
    if len(parts) != len(data):
        raise UsageError(f"{where}: {len(parts)} values are expected, there are {len(data)}")
    return tuple(_value(part, one, f"{where}[{i}]") for i, (part, one) in enumerate(zip(parts, data, strict=True)))


def _scalar(kind: Any, data: object, where: str) -> Any:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind is int and isinstance(data, bool):
        raise UsageError(f"{where}: a whole number is expected, not {data}")
    return _expect(data, kind, where, {int: "a whole number", float: "a number", str: "text"}.get(kind, kind.__name__))


def _expect(data: object, kind: type[T], where: str, name: str) -> T:
    if not isinstance(data, kind):
        raise UsageError(f"{where}: {name} is expected, not {type(data).__name__}")
    return data
