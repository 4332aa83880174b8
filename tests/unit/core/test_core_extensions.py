"""core.extensions: entry points of optional packages."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from core import extensions


@pytest.fixture(autouse=True)
def _read_again() -> None:
    extensions._registered.cache_clear()


@pytest.mark.parametrize("group", ["edbench.commands", "edbench.web"])
def test_the_same_is_found_as_by_the_standard_library(group: str) -> None:
    expected: dict[str, set[str]] = {}
    for one in entry_points(group=group):
        expected.setdefault(one.name, set()).add(one.value)
    assert {name: set(modules) for name, modules in extensions.extensions(group).items()} == expected


def test_a_package_adds_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, folder in (("a", "edbench_x-1.dist-info"), ("b", "edbench_x.egg-info"), ("b", "other-1.dist-info")):
        (tmp_path / place / folder).mkdir(parents=True)
        (tmp_path / place / folder / "entry_points.txt").write_text("[edbench.web]\nx = x.routes\n[other]\ny = z\n")
    (tmp_path / "b" / "edbench_bare-1.dist-info").mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path / name) for name in ("gone", "a", "b")])
    assert extensions.extensions("edbench.web") == {"x": ("x.routes",)}
    assert extensions.extensions("edbench.commands") == {}
    extensions._registered.cache_clear()
