"""docs/settings.md is what the order and the table of variables say, and the table names every variable that is read."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from core.settings import read_settings
from core.variables import VARIABLES
from monitoring.metrics.endpoint import read_endpoint

REPOSITORY = Path(__file__).parents[3]
ROOMS = (
    *("cli", "controller", "core", "experiments", "packages", "monitoring", "queue_manager", "replay", "sql"),
    *("traces", "web", "worker"),
)


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_page", REPOSITORY / "scripts" / "settings_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(page: ModuleType) -> None:
    """`make settings-page` would change nothing."""
    assert page.PAGE.read_text(encoding="utf-8") == page.written()


def named_in_programs() -> set[str]:
    """Every variable that stands as a whole text in a program of ours."""
    files = (file for room in ROOMS for file in (REPOSITORY / room).rglob("*.py") if file.name != "variables.py")
    programs = (text for file in files if "EDBENCH_" in (text := file.read_text(encoding="utf-8")))
    found = (node for program in programs for node in ast.walk(ast.parse(program)))
    texts = {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if re.fullmatch("EDBENCH_[A-Z_]+", text)}


def test_every_variable_that_is_read_is_in_the_table_and_no_other() -> None:
    containers = set(re.findall("EDBENCH_[A-Z0-9_]+", (REPOSITORY / ".env.example").read_text(encoding="utf-8")))
    named = named_in_programs()
    assert named - containers <= VARIABLES.keys()
    assert VARIABLES.keys() <= named


@pytest.mark.parametrize("name", [each.name for each in VARIABLES.values() if each.default])
def test_a_variable_set_to_its_default_changes_nothing(name: str) -> None:
    given = {name: VARIABLES[name].default}
    assert read_settings(given) == read_settings({})
    assert read_endpoint(given) == read_endpoint({})
