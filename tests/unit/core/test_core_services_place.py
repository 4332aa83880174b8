"""Where the embedded PostgreSQL's files go."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from core.services import place
from core.services.place import Home, postgres_place


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives PostgreSQL a user of its own")
def test_a_closed_place_is_left_even_where_its_client_lets_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A FUSE client that leaves rights to its servers lets anybody through for a second: a try says nothing."""
    monkeypatch.setattr(place, "can_reach", lambda *_: True)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        above = Path(directory)
        home = Home(above / "home")
        home.scratch.mkdir()
        home.prepare()
        home.scratch.chmod(0o711)
        above.chmod(0o711)
        assert postgres_place(home, "db1") == home.inside("db1")
        above.chmod(0o700)
        outside = postgres_place(home, "db1")
        assert not outside.is_relative_to(above)
        outside.rmdir()
