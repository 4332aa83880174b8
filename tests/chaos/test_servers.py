"""Servers are killed and started by a person's commands, and are back when their mount works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from chaos.needs import lacking
from chaos.servers import Servers

from core.errors import SystemFault


def _servers(mount: Path, killing: str = "true", starting: str = "true") -> Servers:
    return Servers(mount=mount, killing=killing, starting=starting)


def test_they_are_back_when_the_mount_works_again(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    aside = shlex.quote(str(tmp_path / "aside"))
    place = shlex.quote(str(mount))
    servers = _servers(mount, f"mv {place} {aside}", f"mv {aside} {place}")
    servers.kill()
    assert (servers.away, mount.exists()) == (True, False)
    servers.start()
    assert (servers.away, list(mount.iterdir())) == (False, [])


@pytest.mark.parametrize("command", ["exit 3", "no-such-program-at-all"])
def test_a_command_that_fails_is_told(tmp_path: Path, command: str) -> None:
    """A campaign whose servers were never killed would say that everything was survived."""
    with pytest.raises(SystemFault, match="ended with"):
        _servers(tmp_path, killing=command).kill()
    with pytest.raises(SystemFault, match="ended with"):
        _servers(tmp_path, starting=command).start()


def test_a_failed_run_is_repeated_with_the_same_servers(tmp_path: Path) -> None:
    """Word for word, whatever a shell would make of it."""
    killing = "kill $(cat it's)"
    typed = ["--storage", str(tmp_path), "--kill-servers", killing, "--start-servers", "true"]
    assert shlex.split(_servers(tmp_path, killing).options) == typed


def test_what_cannot_be_had_says_why(tmp_path: Path) -> None:
    """Faults of servers need their commands; a disk of the campaign's own would hide the servers' file system."""
    assert "--kill-servers" in lacking(["servers"], None)["servers"]
    assert list(lacking(["servers", "clock"], _servers(tmp_path))) == ["disks"]
