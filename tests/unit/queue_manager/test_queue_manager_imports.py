"""What a queue manager loads at its start, for which the first task of every job waits."""

from __future__ import annotations

import subprocess
import sys


def test_a_queue_manager_brings_what_it_manages_with() -> None:
    code = "import sys, queue_manager.main; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in said.stdout.split()}
    assert packages >= {"sqlalchemy", "kombu", "redis"}
    assert not packages & {"prometheus_client", "wsgiref", "alembic", "pydantic", "numpy", "lxml", "tantivy", "fastapi"}
