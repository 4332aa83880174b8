"""Every format handler by the media types it declares, imported when the first of its types is met.

Declarations are checked on import."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from types import ModuleType

from readers.base import Handler, LeafHandler
from readers.modules import MEDIA_TYPES

_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+_-]{0,126}")
_ATTRIBUTES = (("name", str), ("media_types", tuple), ("container", bool), ("splits", bool), ("whole", bool))
_METHODS = ("announced", "parts", "children", "text", "message_hashes")


class _UnknownHandler(LeafHandler):
    """Handler of every type that no other handler declares: an item without children and without text."""

    name = "unknown"
    whole = False


_UNKNOWN = _UnknownHandler()


def check_handlers(handlers: Iterable[Handler]) -> dict[str, Handler]:
    """Return the handlers by media type. Raises ValueError if a declaration is incomplete, malformed or repeated."""
    by_type: dict[str, Handler] = {}
    names: set[str] = set()
    for handler in handlers:
        label = f"{type(handler).__module__}.{type(handler).__name__}"
        for attribute, kind in _ATTRIBUTES:
            if not isinstance(getattr(handler, attribute, None), kind):
                raise ValueError(f"{label}: attribute {attribute} must be a {kind.__name__}")
        for method in _METHODS:
            if not callable(getattr(handler, method, None)):
                raise ValueError(f"{label}: method {method} is missing")
        if not handler.name or handler.name in names:
            raise ValueError(f"{label}: name {handler.name!r} is empty or taken")
        names.add(handler.name)
        if not handler.media_types:
            raise ValueError(f"{label}: declares no media type")
        for media_type in handler.media_types:
            if not _MEDIA_TYPE.fullmatch(media_type):
                raise ValueError(f"{label}: {media_type!r} is not a media type in lower case")
            if media_type in by_type:
                raise ValueError(f"{label}: {media_type} is already declared by {by_type[media_type].name}")
            by_type[media_type] = handler
    return by_type


_TABLE: dict[str, tuple[str, ...]] = {}  # declared types of each module's handlers
_MODULES: dict[str, str] = {}  # media type → module
_HANDLERS: dict[str, Handler] = {}  # the loaded ones


def register_modules(table: Mapping[str, tuple[str, ...]]) -> None:
    """Add handlers by their modules, imported when the first of their types is met. Raises ValueError if one of the
    types belongs to another module."""
    for module, media_types in table.items():
        for media_type in media_types:
            by = _MODULES.get(media_type) or (_HANDLERS[media_type].name if media_type in _HANDLERS else module)
            if by != module:
                raise ValueError(f"{module}: {media_type} is already declared by {by}")
        _TABLE[module] = media_types
        _MODULES.update(dict.fromkeys(media_types, module))


register_modules({f"{__package__}.{module}": media_types for module, media_types in MEDIA_TYPES.items()})


def _handlers_of(module: ModuleType) -> Iterable[Handler]:
    """Return the HANDLERS of a module; if it has none, one of each public handler class in it."""
    own = [one for name, one in vars(module).items() if name[0] != "_" and isinstance(one, type)]
    return getattr(module, "HANDLERS", None) or [
        one() for one in own if issubclass(one, LeafHandler) and one.__module__ == module.__name__
    ]


def _loaded(media_type: str) -> Handler | None:
    """Return the handler of a type, imported. Raises ValueError if its module differs from the table."""
    handler = _HANDLERS.get(media_type)
    module = _MODULES.get(media_type)
    if handler is not None or module is None:
        return handler
    declared = check_handlers(_handlers_of(importlib.import_module(module)))
    if set(declared) != set(_TABLE[module]):
        raise ValueError(f"{module}: declares {sorted(declared)}, and its row in readers.modules differs")
    check_handlers(
        dict.fromkeys((*_HANDLERS.values(), *declared.values()))
    )  # checks the names, by which a sandbox finds handlers
    _HANDLERS.update(declared)
    return declared[media_type]


def handler_for(media_type: str) -> Handler:
    """Return the handler that declares this media type; the plain-text handler for unknown subtypes of text, the
    handler of zip archives for types that end with "+zip"; else one without children and text."""
    handler = _loaded(media_type)
    if handler is None and media_type.startswith("text/"):  # read as text/plain (RFC 2046, 4.1.4)
        handler = _loaded("text/plain")
    if handler is None and media_type.endswith("+zip"):  # any such type is a zip archive (RFC 6839, 3.6)
        handler = _loaded("application/zip")
    return _UNKNOWN if handler is None else handler


def register(handlers: Iterable[Handler]) -> None:
    """Add handlers that are not ours (see worker.parsers). Raises ValueError if a declaration clashes with another."""
    known = all_handlers()
    _HANDLERS.update(check_handlers((*known, *(h for h in handlers if h not in known))))


def replace(instead: Iterable[Handler]) -> None:
    """Replace every handler by these, for the rest of this process (worker.sandbox)."""
    _HANDLERS.update({media_type: handler for handler in instead for media_type in handler.media_types})


def all_handlers() -> tuple[Handler, ...]:
    """Return every handler once, in order of declaration, all of them imported."""
    for media_type in _MODULES:
        _loaded(media_type)
    return tuple(dict.fromkeys(_HANDLERS[media_type] for media_type in (*_MODULES, *_HANDLERS)))
