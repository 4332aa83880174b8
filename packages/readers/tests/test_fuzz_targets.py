"""`make fuzz`: what it runs, and that a target which ends before its time is not taken for one that found nothing."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from fuzz_targets import load

from readers.errors import DocumentError

FUZZ = Path(__file__).with_name("fuzz")


@pytest.fixture
def runner() -> ModuleType:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("fuzz_runner", FUZZ / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["pst", "rar", "sevenz", "xls_old"])
def test_mail_stores_and_archives_are_among_the_targets(name: str) -> None:
    target = load(name)
    assert target.seeds
    try:
        target.read(min(target.seeds, key=len))
    except DocumentError as error:
        pytest.fail(f"a whole file is refused: {error}")


@pytest.mark.parametrize(("seconds", "status"), [(0, 0), (3_600, 1)])
def test_a_target_that_ends_before_its_time_fails(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int, status: int
) -> None:
    (tmp_path / "__main__.py").write_text("print('Done 1 runs in 0 second(s)')")
    monkeypatch.setattr(runner, "HERE", tmp_path)
    line, found = runner._run("anything", tmp_path, seconds)
    assert (found, "ended after" in line) == (status, bool(status))
