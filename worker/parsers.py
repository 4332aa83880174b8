"""The parsers of this process, as recorded for the tasks that they did (docs/custody.md).

Where there are sandboxes, the fork server determines what it has loaded, and its sandboxes report it: an installation
that is replaced while a worker runs does not change that worker's record of itself."""

from __future__ import annotations

import functools
import importlib
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from core.errors import UsageError
from core.extensions import NOT_INSTALLED, installed_version
from readers.base import Handler, MemorySource, Source, Text
from readers.identification import libmagic
from readers.identification.identify import register_identify, register_magic
from readers.office.foreign import KEPT, ForeignHandler
from readers.parsers import LIBRARIES, OTHER_TEXT, OTHER_ZIP, OTHERS, ParserSet
from readers.records import Limits
from readers.registry import all_handlers, handler_for, register, register_modules, replace


def load_plugins(names: Iterable[str]) -> None:
    """Import and register them; UsageError when one is missing or clashes with another handler."""
    for name in names:
        try:
            _register(importlib.import_module(name))
        except Exception as e:
            why = " ".join(f"{type(e).__name__}: {e}".split())  # a module that is imported may raise anything
            raise UsageError(
                f"EDBENCH_PLUGINS: {name} cannot be used ({why}); install its package, set EDBENCH_PLUGINS to "
                "other modules, or clear it (EDBENCH_PLUGINS=)"
            ) from e


def _register(plugin: ModuleType) -> None:
    if not {"HANDLERS", "MEDIA_TYPES"} & set(vars(plugin)):
        raise ValueError("it defines neither HANDLERS nor MEDIA_TYPES")
    if hasattr(plugin, "HANDLERS"):
        register(plugin.HANDLERS)
    register_modules(getattr(plugin, "MEDIA_TYPES", {}))
    register_magic(getattr(plugin, "MAGIC", {}))
    if hasattr(plugin, "IDENTIFY"):
        register_identify(plugin.IDENTIFY)


class OfficeTexts(ForeignHandler):
    """Replaces the handler of the same types: LibreOffice converts a document, in a directory below `scratch`."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text. Raises what `to_open_document` does."""
        from worker.office.converting import ODT, to_open_document  # few files need it, and it takes a tenth of a start

        made = to_open_document(source, self.media_types, self._scratch, limits)
        out = handler_for(ODT.media_type).text(MemorySource(b"converted.odt", made), limits)
        out.metadata = {key: value for key, value in out.metadata.items() if key in KEPT}
        return out


def read_by_office(scratch: Path) -> None:
    """Read formats without a handler here with LibreOffice, for the rest of this process."""
    replace((OfficeTexts(scratch),))


_OURS = "edbench"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of what a package requires


def own_set() -> ParserSet:
    """Return all parsers of this process, plugins included. The first call imports handlers and reads files: call it
    before rights are given up."""
    return _set_of(all_handlers())


@functools.lru_cache(maxsize=1)
def _set_of(handlers: tuple[Handler, ...]) -> ParserSet:
    types = {media_type: handler.name for handler in handlers for media_type in handler.media_types}
    others = {media_type: handler_for(media_type) for media_type in (OTHER_TEXT, OTHER_ZIP, OTHERS)}
    packages = {handler.name: _package(handler) for handler in (*handlers, *others.values())}
    plugins = set(packages.values()) - {_OURS}
    magic = libmagic.found()  # it identifies what our own table does not know
    return ParserSet.of(
        {
            "edbench": installed_version(),
            "python": platform.python_version(),
            "types": types | {media_type: handler.name for media_type, handler in others.items()},
            "handlers": {name: f"{package} {installed_version(package)}" for name, package in packages.items()},
            "libraries": {**dict(_libraries(plugins)), **_office(), **({"libmagic": magic} if magic else {})},
        }
    )


def _package(handler: Handler) -> str:
    """Return the package of a handler; that of a plugin has the name of its module."""
    top = type(handler).__module__.partition(".")[0]
    return _OURS if top in ("readers", "worker") else top


def _libraries(plugins: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield our libraries and those that plugins require, with their versions, if they are installed."""
    from importlib.metadata import PackageNotFoundError, requires

    wanted = set(LIBRARIES)
    for plugin in plugins:
        try:
            lines = requires(plugin) or ()
        except PackageNotFoundError:
            continue
        found = (_NAME.match(line) for line in lines if "extra ==" not in line)
        wanted |= {name.group() for name in found if name is not None} - {_OURS}
    for name in sorted(wanted):
        if (version := installed_version(name)) != NOT_INSTALLED:
            yield name, version


def _office() -> dict[str, str]:
    """Return the version of LibreOffice, which reads what no handler does."""
    from worker.office.converting import OfficeUnavailable, find_office

    try:
        return {"libreoffice": find_office().version}
    except OfficeUnavailable:
        return {}
