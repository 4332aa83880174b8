"""Sources of discoveries."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def custodians(tmp_path: Path) -> Path:
    """A source of two custodians with a link and a FIFO."""
    root = tmp_path / "source"
    for name in ("ann", "bob"):
        (root / name).mkdir(parents=True)
        (root / name / "a.txt").write_text(name)
    (root / "ann" / "link").symlink_to("a.txt")
    os.mkfifo(root / "bob" / "pipe")
    return root
