"""worker.office.converting: what LibreOffice left in /tmp is removed if it was ours and nobody has it any more."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from worker.office.converting import remove_socket, remove_stale_sockets, socket_name
from worker.sandbox.lockdown import OWN_UIDS


def test_only_ours_of_processes_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives each process an owner of its own")
    process = subprocess.Popen(["true"])
    process.wait()
    gone, alive = process.pid, os.getpid()
    monkeypatch.chdir(tmp_path)  # a socket's whole name may be short only
    for name, owner in (
        ("OSL_PIPE_SingleOfficeIPC_5ad", OWN_UIDS + gone),
        ("OSL_PIPE_SingleOfficeIPC_a11fe", OWN_UIDS + alive),
        ("OSL_PIPE_SingleOfficeIPC_other", 0),
        ("other", OWN_UIDS + gone),
    ):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
        os.chown(name, owner, owner)
    remove_stale_sockets(str(tmp_path))
    left = {"OSL_PIPE_SingleOfficeIPC_a11fe", "OSL_PIPE_SingleOfficeIPC_other", "other"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_the_name_is_that_of_both_generations(tmp_path: Path) -> None:
    """Seen of LibreOffice 25.2, which hashes where the profile really is; earlier ones hash what they were given."""
    assert socket_name(Path("/scratch/tmp5mnjwddx")) == "OSL_PIPE_SingleOfficeIPC_8948c4a0e04cb5de789032a0f553f748"
    place, link = tmp_path / "place", tmp_path / "link"
    place.mkdir()
    link.symlink_to(place)
    for at in (Path("/proc/12/cwd"), place):
        (tmp_path / socket_name(at)).touch()
    remove_socket(12, link, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"place", "link"}
