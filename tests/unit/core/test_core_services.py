"""The secrets of a system in containers: made once, each for one part."""

import hashlib
import os
import tempfile
from pathlib import Path

import pytest

from core.errors import StorageFault, UsageError
from core.mounts import MountEntry
from core.roles import PROVISIONER, ROLES
from core.services import place
from core.services.keyring import Given, give_away, make_secrets, read_given, read_logins
from core.services.place import Home, postgres_place
from core.services.shared_storage import TOKEN, Identity, check, identify, main, mismatch
from core.settings import Settings, read_settings


def files(directory: Path) -> dict[str, str]:
    """Every file's text by its path."""
    return {str(p.relative_to(directory)): p.read_text() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_each_part_gets_its_own_and_nothing_changes_afterwards(tmp_path: Path) -> None:
    """A second start finds what the first made; a part whose volume was removed gets a new password, and the broker
    is told of it."""
    make_secrets(tmp_path, Given())
    made = files(tmp_path)
    assert made.keys() == {
        *(f"{role}/login" for role in (*ROLES, PROVISIONER)),
        *("controller/token", "database/password", "broker/users.acl", "grafana/password", "controller/grafana"),
    }
    assert made["controller/grafana"] == made["grafana/password"], "`edbench token --grafana` prints it"
    own = {name: text for name, text in made.items() if name not in ("broker/users.acl", "controller/grafana")}
    passwords = [text.strip().rpartition(":")[2] for text in own.values()]
    assert len(set(passwords)) == len(passwords)
    assert all(len(password) >= 48 for password in passwords)
    assert not any(password in made["broker/users.acl"] for password in passwords)
    make_secrets(tmp_path, Given())
    assert files(tmp_path) == made
    (tmp_path / "worker/login").unlink()
    make_secrets(tmp_path, Given())
    again = files(tmp_path)
    assert {name for name in made if made[name] != again[name]} == {"worker/login", "broker/users.acl"}
    for login in read_logins(tmp_path):
        assert hashlib.sha256(login.password.encode()).hexdigest() in again["broker/users.acl"]


def test_a_role_comes_with_what_its_file_states(tmp_path: Path) -> None:
    make_secrets(tmp_path, Given())
    env = {
        "EDBENCH_DATABASES": "db1=postgresql+psycopg2://db1:5432/edbench",
        "EDBENCH_BROKER": "redis://broker:6379/0",
        "EDBENCH_LOGIN_FILE": str(tmp_path / "worker/login"),
    }
    handed = tuple(read_logins(tmp_path))
    plain = {**env, "EDBENCH_LOGIN_FILE": str(tmp_path / "controller/login")}
    controllers = read_settings(plain)
    (worker,) = (login for login in handed if login.role == "worker")
    assert read_settings(env).databases[0].url == worker.into(controllers.databases[0].url)
    assert isinstance(controllers, Settings)


def test_what_the_environment_states_is_taken(tmp_path: Path) -> None:
    """The superuser's password of databases that are there already, once; the page's token whenever it is set."""
    make_secrets(tmp_path, read_given({"EDBENCH_DB_PASSWORD": "p" * 16, "EDBENCH_TOKEN": "t" * 16, "EDBENCH_UID": ""}))
    assert files(tmp_path)["database/password"].strip() == "p" * 16
    make_secrets(tmp_path, read_given({"EDBENCH_DB_PASSWORD": "q" * 16, "EDBENCH_TOKEN": "u" * 16}))
    assert files(tmp_path)["database/password"].strip() == "p" * 16, "the databases' files know it"
    assert files(tmp_path)["controller/token"].strip() == "u" * 16


@pytest.mark.parametrize(
    ("key", "value"),
    [("EDBENCH_DB_PASSWORD", "short"), ("EDBENCH_TOKEN", "a b" * 9), ("EDBENCH_UID", "root"), ("EDBENCH_GID", "-1")],
)
def test_weak_values_are_refused(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=key) as caught:
        read_given({key: value})
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_each_part_can_read_its_own_alone(tmp_path: Path) -> None:
    """Files and directories belong to the user that the part works as; again after a second start."""
    for _ in range(2):
        given = Given(user=1234, group=1235)
        make_secrets(tmp_path, given)
        give_away(tmp_path, given)
        owners = {"database": 999, "broker": 999, "grafana": 472}
        for path in tmp_path.rglob("*"):
            part = path.relative_to(tmp_path).parts[0]
            assert path.stat().st_uid == owners.get(part, 1234), path
            assert path.stat().st_mode & 0o777 == (0o500 if path.is_dir() else 0o400), path


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
def test_two_storages_are_distinguished(other: Identity, differs: str | None) -> None:
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
    shown = capsys.readouterr().err
    return (
        0 if status == 1 and shown.count("\n") == 1 and f"chown {os.getuid()}:{os.getgid()} {storage}" in shown else 1
    )


def test_storage_that_can_be_used_is_named(tmp_path: Path) -> None:
    shown = check(tmp_path, {"EDBENCH_SHARED": str(tmp_path), "EDBENCH_SHARED_TYPE": "none"})
    assert shown.startswith(f"{tmp_path}: ")
    assert " from " in shown
