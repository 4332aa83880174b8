"""core.services.shared_storage: which storage is mounted, and whether it is the one that the settings name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import StorageFault
from core.mounts import MountEntry
from core.services.shared_storage import TOKEN, Identity, check, identify, main, mismatch

NFS = MountEntry(1, "0:50", "/mnt/f", "nfs4", ":/export", ("rw", "vers=4.2", "rsize=65536", "hard", "addr=10.0.0.5"))


def _identity(kind: str = "nfs4", source: str = "10.0.0.5:/export", token: str = "a") -> Identity:
    return Identity(kind=kind, source=source, token=token)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (_identity(), None),
        (_identity(source="10.0.0.6:/export"), None),  # another address of the same server
        (_identity(source="10.0.0.5:/other"), "source"),
        (_identity(kind="ext4"), "type"),
        (_identity(token="b"), TOKEN),
    ],
)
def test_two_storages_are_told_apart(other: Identity, differs: str | None) -> None:
    found = _identity().differs(other)
    assert (found is None) if differs is None else (found is not None and differs in found)


def test_local_disks_are_compared_by_their_device() -> None:
    assert _identity("ext4", "/dev/sda1").differs(_identity("ext4", "/dev/sdb1")) is not None


@pytest.mark.parametrize(
    ("source", "kind", "options", "wrong"),
    [
        (":/export", "nfs", "addr=10.0.0.5,nfsvers=4.2,hard", None),
        (":/export", "nfs", "addr=10.0.0.5,vers=4", None),
        (":/export", "nfs", "addr=filer.example.org,rsize=1048576", None),
        (":/other", "nfs", "addr=10.0.0.5", "not :/other"),
        (":/export", "nfs", "addr=10.0.0.6", "addr=10.0.0.5"),
        (":/export", "nfs", "addr=10.0.0.5,nfsvers=3", "vers=4.2"),
        (":/export", "nfs", "addr=10.0.0.5,soft", "mounted hard"),
        (":/export", "nfs", "addr=10.0.0.5,ro", "mounted rw"),
        ("//10.0.0.5/share", "cifs", "", "type nfs4"),
    ],
)
def test_a_volume_that_kept_other_options_is_found(source: str, kind: str, options: str, wrong: str | None) -> None:
    """The engine keeps the options that a volume was created with, whatever the settings say since."""
    found = mismatch(NFS, source, kind, options)
    assert (found is None) if wrong is None else (found is not None and wrong in found)


def test_the_token_is_written_once_and_read_by_everyone(tmp_path: Path) -> None:
    with pytest.raises(StorageFault, match="not the storage that the system was started on"):
        identify(tmp_path, mark=False)
    first = identify(tmp_path, mark=True)
    assert len(first.token) == 32
    assert first == identify(tmp_path, mark=True) == identify(tmp_path, mark=False)
    assert [path.name for path in tmp_path.iterdir()] == [TOKEN]


def test_a_directory_that_cannot_be_written_to_ends_with_the_command_to_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = tmp_path / "filer"
    storage.mkdir(mode=0o555)
    env = {"EDBENCH_STORAGE": str(storage), "EDBENCH_SHARED": str(storage)}
    pid = os.fork() if os.geteuid() == 0 else 0
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        return
    if os.geteuid() == 0:
        code = 1
        try:
            os.setresuid(0, 65_534, 0)
            code = _refused(env, storage, capsys)
        finally:
            os._exit(code)
    assert _refused(env, storage, capsys) == 0


def _refused(env: dict[str, str], storage: Path, capsys: pytest.CaptureFixture[str]) -> int:
    status = main(env)
    said = capsys.readouterr().err
    return 0 if status == 1 and said.count("\n") == 1 and f"chown {os.getuid()}:{os.getgid()} {storage}" in said else 1


def test_storage_that_can_be_used_is_named(tmp_path: Path) -> None:
    said = check(tmp_path, {"EDBENCH_SHARED": str(tmp_path), "EDBENCH_SHARED_TYPE": "none"})
    assert said.startswith(f"{tmp_path}: ")
    assert " from " in said
