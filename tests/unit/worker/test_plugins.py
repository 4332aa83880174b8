"""Handlers that are not ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.errors import UsageError
from formats import registry
from formats.base import MemorySource
from formats.identification.identify import identify
from worker.plugins import load_plugins

GOOD = """
from formats.base import LeafHandler
class H(LeafHandler):
    name = "NAME"
    media_types = ("application/x-NAME",)
HANDLERS = (H(),)
MAGIC = {b"NAME!": "application/x-NAME"}
"""


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", dict(registry._HANDLERS))
    monkeypatch.setattr("formats.identification.identify._REGISTERED", {})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_plugin_is_found_by_its_magic(tmp_path: Path) -> None:
    """Its handler takes what begins with its bytes; loading it twice does no harm."""
    (tmp_path / "edb_good.py").write_text(GOOD.replace("NAME", "edbgood"))
    load_plugins(["edb_good", "edb_good"])
    assert identify(MemorySource(b"x", b"edbgood! and more")) == "application/x-edbgood"
    assert registry.handler_for("application/x-edbgood").name == "edbgood"


@pytest.mark.parametrize(
    ("module", "text", "why"),
    [
        ("edb_missing", None, "edb_missing"),
        ("edb_empty", "", "HANDLERS"),
        ("edb_clash", GOOD.replace("application/x-NAME", "application/pdf").replace("NAME", "edbclash"), "pdf"),
        ("edb_half", "class H:\n    name = 'edbhalf'\nHANDLERS = (H(),)", "media_types"),
        ("edb_import", "import no_such_module_anywhere", "no_such_module_anywhere"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_told(tmp_path: Path, module: str, text: str | None, why: str) -> None:
    """One line with the variable, the plugin and the reason, before any work begins."""
    if text is not None:
        (tmp_path / f"{module}.py").write_text(text)
    with pytest.raises(UsageError, match="EDBENCH_PLUGINS") as caught:
        load_plugins([module])
    assert module in str(caught.value)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("edb_syntax", "def ("),
        ("edb_zero", "1 / 0"),
        ("edb_five", "HANDLERS = 5"),
        ("edb_seven", "HANDLERS = ()\nMAGIC = 7"),
    ],
)
def test_a_plugin_that_breaks_when_imported_is_told_too(tmp_path: Path, module: str, text: str) -> None:
    """Whatever a plugin does wrong, it is the plugin that is named, not a traceback."""
    (tmp_path / f"{module}.py").write_text(text)
    with pytest.raises(UsageError, match=module):
        load_plugins([module])
