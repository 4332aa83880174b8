"""The secrets of a system in containers: made once, each for one part."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from core.errors import UsageError
from core.roles import PROVISIONER, ROLES
from core.services.keyring import Given, give_away, make_secrets, read_given, read_logins
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


def test_a_role_comes_with_what_its_file_says(tmp_path: Path) -> None:
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


def test_what_the_environment_says_is_taken(tmp_path: Path) -> None:
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
