"""Who acts is the user that the process runs as."""

from __future__ import annotations

import os
import pwd
import socket

import pytest

from controller.custody.actions import acting, operator


def test_the_environment_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOGNAME and USER, which anybody sets, are not asked; who called sudo stands behind, a name alone."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "alice")
    monkeypatch.delenv("SUDO_USER", raising=False)
    own = f"{pwd.getpwuid(os.geteuid()).pw_name}@{socket.gethostname()}"
    assert operator() == own
    monkeypatch.setenv("SUDO_USER", "ann.lee")
    assert operator() == f"{own} (sudo: ann.lee)"
    for forged in ("", "ann\ncreated", "a" * 65, "ann) (sudo: bob"):
        monkeypatch.setenv("SUDO_USER", forged)
        assert operator() == own
    with acting("page at 10.1.1.1"):
        assert operator() == "page at 10.1.1.1"


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999_999)
    assert operator() == f"uid 3999999999@{socket.gethostname()}"
