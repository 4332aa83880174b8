"""Commands that only read what the databases have."""

from __future__ import annotations

from pathlib import Path

import pytest
from servers import copy_scratch

from cli.main import OK, USAGE, main

pytestmark = pytest.mark.services


def test_who_reads_starts_no_broker(
    open_dir: Path, empty_scratch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = open_dir / "read-only"
    copy_scratch(empty_scratch, scratch)
    log = scratch / "logs" / "broker.log"
    log.unlink(missing_ok=True)
    env = {"EDBENCH_SCRATCH": str(scratch), "EDBENCH_STORAGE": str(tmp_path)}
    assert main(["job", "list"], env) == OK
    for command in (["job", "show", "last"], ["review", "items", "last"], ["review", "search", "last", "words"]):
        assert main(command, env) == USAGE
        assert "there is no job yet" in capsys.readouterr().err
    assert (scratch / "logs" / "postgres.log").exists()
    assert not log.exists()
