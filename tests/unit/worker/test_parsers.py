"""Parser sets: what a worker says of what it reads with."""

import ast
import json
import re
import sys
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from sandboxes import fork_server

from readers.base import LeafHandler
from readers.parsers import LIBRARIES, ParserSet, parser_of
from readers.registry import all_handlers, handler_for
from worker import parsers
from worker.parsers import own_set
from worker.sandbox.fork_server import order_sandbox

ROOT = Path(__file__).parents[3]
_READ_WITH = [*(ROOT / "packages/readers/readers").rglob("*.py"), *(ROOT / "worker/ocr").glob("*.py")]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_whatever_readers_import_has_its_version_reported() -> None:
    found: set[str] = set()
    for path in _READ_WITH:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    where, named = packages_distributions(), {_plain(name) for name in LIBRARIES}
    others = (
        found - set(sys.stdlib_module_names) - {"compression", "core", "readers", "sql", "worker", "typing_extensions"}
    )
    assert len(others) > 8
    assert [module for module in others if not named & {_plain(name) for name in where.get(module, [])}] == []


def test_every_handler_is_reported_with_its_package() -> None:
    reported = json.loads(own_set().text)
    ours = f"edbench {version('edbench')}"
    for handler in all_handlers():
        for media_type in handler.media_types:
            name, package = parser_of(reported, media_type)
            assert name == handler.name
            assert package == ours
    for media_type in ("text/x-nobodys", "application/x-nobodys+zip", "application/x-nobodys", "inode/symlink"):
        assert parser_of(reported, media_type) == (handler_for(media_type).name, ours)
    assert reported["libraries"]["lxml"] == version("lxml")
    assert reported["libraries"]["djvu-rs"] == version("djvu-rs")
    assert reported["edbench"] == version("edbench")


def test_an_id_states_what_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    own = own_set()
    reported = json.loads(own.text)
    assert ParserSet.of({key: reported[key] for key in sorted(reported, reverse=True)}) == own
    parsers._set_of.cache_clear()
    monkeypatch.setattr(parsers, "installed_version", lambda package="edbench": "9.9" if package == "lxml" else "1")
    newer = own_set()
    parsers._set_of.cache_clear()
    assert newer.id != own.id
    assert json.loads(newer.text)["libraries"]["lxml"] == "9.9"


def test_a_sandbox_reports_what_its_fork_server_has() -> None:
    """Though it can open no file any more: the fork server found out before."""
    with fork_server() as address:
        assert order_sandbox(address).parsers() == own_set()


def test_a_plugin_is_recorded_with_its_package() -> None:
    plugin = type(
        "Plugin", (LeafHandler,), {"__module__": "docker.x", "name": "x", "media_types": ("application/x-x",)}
    )()
    reported = json.loads(parsers._set_of((*all_handlers(), plugin)).text)
    parsers._set_of.cache_clear()
    assert parser_of(reported, "application/x-x") == ("x", f"docker {version('docker')}")
    assert reported["libraries"]["requests"] == version("requests")
