"""`edbench storage clean`: directories of jobs that no database knows."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from core.settings import Settings
from sql.session import Database

pytestmark = pytest.mark.services

LONG_AGO = 1_000_000_000


def _directory(root: Path, name: str, *, age: bool = True) -> Path:
    """A job's directory with a file two levels down, and a link that leads out of the storage root."""
    made = root / name
    (made / "items" / "ab").mkdir(parents=True)
    (made / "items" / "ab" / "child").write_bytes(b"x")
    (made / "out").symlink_to(root.parent / "outside")
    if age:
        for path in (made / "items" / "ab", made / "items", made):
            os.utime(path, (LONG_AGO, LONG_AGO))
    return made


def test_only_directories_that_no_database_knows_are_removed(
    database: Database, services: Settings, hands: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job of the database, one that changed a moment ago (deep inside), and what is not called as a job are kept; what a link leads
    to stays; without --remove and without an answer nothing goes."""
    root = tmp_path / "root"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").touch()
    known = _directory(root, f"jobs/{hands.create().hex}")
    lost, copies = (_directory(root, f"{place}{uuid.uuid4().hex}") for place in ("jobs/", "corpora/copies-"))
    young = _directory(root, f"jobs/{uuid.uuid4().hex}", age=False)
    os.utime(young, (LONG_AGO, LONG_AGO))
    other = [
        _directory(root, name) for name in ("jobs/notes", f"jobs/{uuid.uuid4().hex.upper()}", "corpora/c", "results/r")
    ]
    env = {"EDBENCH_DATABASES": f"db1={database.url}", "EDBENCH_BROKER": services.broker, "EDBENCH_STORAGE": str(root)}
    env["EDBENCH_SCRATCH"] = str(tmp_path / "scratch")

    assert main(["storage", "clean", "-o", "json"], env) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(row["path"], row["removed"]) for row in listed} == {(str(path), False) for path in (lost, copies, young)}
    assert main(["storage", "clean", "--remove"], env) == 2
    assert "--yes" in capsys.readouterr().err
    assert lost.is_dir()
    assert main(["storage", "clean", "--remove", "--yes"], env) == 0
    assert "1 changed within the last hour" in capsys.readouterr().err
    assert [path.exists() for path in (lost, copies, young, known, *other)] == [
        False,
        False,
        *[True] * (2 + len(other)),
    ]
    assert (tmp_path / "outside" / "kept").exists()
