"""Real text in 45 languages and 68 charsets through the pipeline: every planted word found, or the text says that it may be
wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from installation import COMMAND_SECONDS, EDBENCH, Bench

from core.settings import INDEX_ENGINES


@pytest.fixture(scope="module")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile `languages`, as small as it comes: each language in each charset once."""
    directory = tmp_path_factory.mktemp("languages") / "c"
    line = [str(EDBENCH), "generate", str(directory), "--profile", "languages", "--scale", "0.1", "--seed", "1"]
    subprocess.run(line, check=True, capture_output=True, timeout=COMMAND_SECONDS)
    return directory


@pytest.mark.parametrize("engine", INDEX_ENGINES)
def test_every_language_is_found_in_every_charset(bench: Bench, languages: Path, engine: str) -> None:
    """In both engines; `verify` holds the text states and planted words of every file against the manifest."""
    bench.end(bench.discover("--workers", "1", "--slots", "2", "--index-engine", engine, corpus=languages))
    result = bench.result()
    assert result["index_engine"] == engine
    assert engine in result["versions"]
    assert result["index_bytes"] > 0
    found = bench.verify()
    assert (found["differences"], found["extra"], found["missing"]) == (0, 0, 0)
    assert found["terms"] > 900
