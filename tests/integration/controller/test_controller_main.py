"""`python -m controller`: what the controller's container does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from installation import PATIENCE, until

from controller.__main__ import main, prepare
from core.errors import StorageFault
from core.program.whole import Stop
from core.services.shared_storage import TOKEN
from core.settings import DatabaseAddress, Settings
from sql.session import Database


def test_it_is_ready_once_the_schema_is_there_and_ends_when_asked(
    database: Database, services: Settings, tmp_path: Path
) -> None:
    """Queue manager and workers wait for the file; `docker stop` ends it at once, with status 0."""
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),), broker=services.broker, storage=tmp_path
    )
    ready = tmp_path / "ready"
    code = "import os, sys; from pathlib import Path; from controller.__main__ import main\n"
    code += "sys.exit(main(os.environ, Path(sys.argv[1])))"
    process = subprocess.Popen([sys.executable, "-c", code, str(ready)], env=dict(os.environ) | settings.environment())
    try:
        until(lambda: ready.exists() or process.poll() is not None, "it is ready")
        assert ready.exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def test_a_filer_that_is_not_mounted_again_is_not_replaced_by_what_is_below(database: Database, tmp_path: Path) -> None:
    """After the host started again the engine starts the containers on the bare mount point: it has no token, and is refused until
    the filer is back."""
    settings = Settings(databases=(DatabaseAddress(name="db1", url=database.url),), storage=tmp_path)
    prepare(settings, Stop())
    (tmp_path / TOKEN).rename(tmp_path / "of the filer")
    with pytest.raises(StorageFault, match="not the storage that the system was started on"):
        prepare(settings, Stop())
    assert not (tmp_path / TOKEN).exists()
    (tmp_path / "of the filer").rename(tmp_path / TOKEN)
    prepare(settings, Stop())


def test_a_storage_root_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commonest mistake with containers, told when the system comes up rather than in the first job."""
    env = {
        "EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@127.0.0.1:1/db1",
        "EDBENCH_STORAGE": str(tmp_path / "none"),
    }
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    try:
        assert main(env, tmp_path / "ready") == 1
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
    assert "see EDBENCH_UID" in capsys.readouterr().err
    assert not (tmp_path / "ready").exists()
