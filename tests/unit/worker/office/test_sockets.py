"""worker.office.sockets: what LibreOffice left in /tmp is removed if it was ours and nobody has it any more."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from worker.box.lockdown import OWN_UIDS
from worker.office.sockets import remove_stale_sockets, socket_name


def test_only_ours_of_processes_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others' stay: of a living process, of another owner, of another name."""
    if os.geteuid() != 0:
        pytest.skip("only root gives each process an owner of its own")
    process = subprocess.Popen(["true"])
    process.wait()
    gone, alive = process.pid, os.getpid()
    monkeypatch.chdir(tmp_path)  # a socket's whole name may be short only
    for name, owner in (
        (socket_name(gone), OWN_UIDS + gone),
        (socket_name(alive), OWN_UIDS + alive),
        (socket_name(1), 0),
        ("OSL_PIPE_SingleOfficeIPC_5ad", OWN_UIDS + gone),
    ):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
        os.chown(name, owner, owner)
    remove_stale_sockets(str(tmp_path))
    left = {socket_name(alive), socket_name(1), "OSL_PIPE_SingleOfficeIPC_5ad"}
    assert {path.name for path in tmp_path.iterdir()} == left
