"""Handlers that are not ours."""

import sys
from pathlib import Path

import pytest

from core.errors import UsageError
from readers import registry
from readers.base import MemorySource
from readers.identification.identify import identify
from worker.parsers import load_plugins

GOOD = """
from readers.base import LeafHandler
class H(LeafHandler):
    name = "NAME"
    media_types = ("application/x-NAME",)
HANDLERS = (H(),)
MAGIC = {b"NAME!": "application/x-NAME"}
"""


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for table in ("_HANDLERS", "_MODULES", "_TABLE"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    monkeypatch.setattr("readers.identification.identify._REGISTERED", {})
    monkeypatch.setattr("readers.identification.identify._ASKED", [])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_plugin_is_found_by_its_magic(tmp_path: Path) -> None:
    (tmp_path / "edb_good.py").write_text(GOOD.replace("NAME", "edbgood"))
    load_plugins(["edb_good", "edb_good"])
    assert identify(MemorySource(b"x", b"edbgood! and more")) == "application/x-edbgood"
    assert registry.handler_for("application/x-edbgood").name == "edbgood"


LAZY = """
MEDIA_TYPES = {"edb_lazy_reader": ("application/x-edblazy",)}
IDENTIFY = lambda head: "application/x-edblazy" if sum(head) == 7 else None
"""


def test_a_plugin_is_read_when_a_file_of_its_type_is_met(tmp_path: Path) -> None:
    """Where it names modules instead of handlers; and it may tell its types by more than first bytes."""
    (tmp_path / "edb_lazy.py").write_text(LAZY)
    (tmp_path / "edb_lazy_reader.py").write_text(GOOD.replace("NAME", "edblazy"))
    load_plugins(["edb_lazy", "edb_lazy"])
    assert "edb_lazy_reader" not in sys.modules
    assert identify(MemorySource(b"x", b"\3\4")) == "application/x-edblazy"
    assert identify(MemorySource(b"x", b"\3\5")) != "application/x-edblazy"
    assert registry.handler_for("application/x-edblazy").name == "edblazy"


def test_a_module_that_is_not_what_the_table_states_is_refused(tmp_path: Path) -> None:
    """Its handler would be found under one type and not under another; one with another's name, by nobody in a sandbox."""
    (tmp_path / "edb_other.py").write_text(LAZY.replace("lazy", "other"))
    (tmp_path / "edb_other_reader.py").write_text(GOOD.replace("NAME", "edblazy"))
    (tmp_path / "edb_named.py").write_text(LAZY.replace("lazy", "named"))
    (tmp_path / "edb_named_reader.py").write_text(GOOD.replace('"NAME"', '"zip"').replace("NAME", "edbnamed"))
    load_plugins(["edb_other", "edb_named"])
    registry.handler_for("application/zip")
    with pytest.raises(ValueError, match="edb_other_reader"):
        registry.handler_for("application/x-edbother")
    with pytest.raises(ValueError, match="zip"):
        registry.handler_for("application/x-edbnamed")


@pytest.mark.parametrize(
    ("module", "text", "why"),
    [
        ("edb_missing", None, "edb_missing"),
        ("edb_empty", "", "HANDLERS"),
        ("edb_clash", GOOD.replace("application/x-NAME", "application/pdf").replace("NAME", "edbclash"), "pdf"),
        ("edb_taken", LAZY.replace("application/x-edblazy", "application/pdf"), "pdf"),
        ("edb_half", "class H:\n    name = 'edbhalf'\nHANDLERS = (H(),)", "media_types"),
        ("edb_import", "import no_such_module_anywhere", "no_such_module_anywhere"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_reported(tmp_path: Path, module: str, text: str | None, why: str) -> None:
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
def test_a_plugin_that_breaks_when_imported_is_reported_too(tmp_path: Path, module: str, text: str) -> None:
    (tmp_path / f"{module}.py").write_text(text)
    with pytest.raises(UsageError, match=module):
        load_plugins([module])
