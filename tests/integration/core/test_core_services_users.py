"""The embedded services under root in a closed place, under an ordinary user, and under both in turn."""

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest
from installation import COMMAND_SECONDS

import core
from core.errors import UsageError
from core.services import embedded_services, running_services
from core.services.place import Home, remove_data
from core.settings import Settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become other users")

# Counts its runs in the database and says who PostgreSQL runs as.
COMMAND = """
import sys
from pathlib import Path
import psutil, psycopg2
from core.errors import EdbenchError
from core.services import embedded_services, running_services
from core.settings import Settings
scratch = Path(sys.argv[1])
try:
    with embedded_services(Settings(scratch=scratch), slots=1) as settings:
        connection = psycopg2.connect(settings.databases[0].url.replace("+psycopg2", ""))
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS runs (n int)")
            cursor.execute("INSERT INTO runs VALUES (1)")
            cursor.execute("SELECT count(*) FROM runs")
            runs = cursor.fetchone()[0]
        connection.close()
        print(runs, psutil.Process(running_services(scratch).servers[0].pid).uids().effective)
except EdbenchError as error:
    print(type(error).__name__, error)
"""


def _of(user: pwd.struct_passwd, env: dict[str, str]) -> dict[str, Any]:
    return {"env": env, "user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def python_for(user: pwd.struct_passwd) -> tuple[str, dict[str, str]]:
    """An interpreter with our packages that this user can run; skips when there is none."""
    root = str(Path(core.__file__).parents[1])
    packages = str(Path(psycopg2.__file__).parents[1])
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            subprocess.run(
                [python, "-c", "import psycopg2, psutil, core.services"],
                check=True,
                capture_output=True,
                **_of(user, env),
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return python, env
    pytest.skip(f"user {user.pw_name} cannot run any interpreter with our packages")


def run_as(user: pwd.struct_passwd, scratch: Path) -> str:
    """Run the command as that user; what it said."""
    python, env = python_for(user)
    done = subprocess.run(
        [python, "-c", COMMAND, str(scratch)],
        check=True,
        capture_output=True,
        text=True,
        **_of(user, env),
        timeout=COMMAND_SECONDS,
    )
    return done.stdout.strip()


@pytest.fixture
def ordinary() -> pwd.struct_passwd:
    """Some user that is neither root nor nobody."""
    try:
        return pwd.getpwnam("daemon")
    except KeyError:
        pytest.skip("no user daemon on this machine")


@pytest.fixture
def closed(open_dir: Path) -> Iterator[Path]:
    """A directory that only root may enter."""
    directory = open_dir / "closed"
    directory.mkdir(mode=0o700)
    yield directory
    remove_data(Home(directory / "scratch"))


def test_ordinary_user_then_root_then_the_user_again(ordinary: pwd.struct_passwd, open_dir: Path) -> None:
    """An ordinary user's services run as that user; root may use the same scratch later, PostgreSQL still running
    as the data's owner; and afterwards the user can still use it."""
    scratch = open_dir / "users own"
    scratch.mkdir()
    os.chown(scratch, ordinary.pw_uid, ordinary.pw_gid)
    assert run_as(ordinary, scratch) == f"1 {ordinary.pw_uid}"
    assert run_as(pwd.getpwnam("root"), scratch) == f"2 {ordinary.pw_uid}"
    assert run_as(ordinary, scratch) == f"3 {ordinary.pw_uid}"


def test_scratch_of_another_user(ordinary: pwd.struct_passwd, open_dir: Path) -> None:
    scratch = open_dir / "of root"
    scratch.mkdir()
    shown = run_as(ordinary, scratch)
    assert shown.startswith("UsageError scratch ")
    assert "EDBENCH_SCRATCH" in shown


def test_a_root_without_its_rights_is_reported_at_once(open_dir: Path) -> None:
    """In a container without capabilities root cannot use the socket of PostgreSQL's user: one line, and not two
    minutes of waiting for it."""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to drop capabilities with")
    line = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", sys.executable, "-c", COMMAND]
    scratch = open_dir / "weak root"
    env = {**os.environ, "PYTHONPATH": str(Path(core.__file__).parents[1])}
    done = subprocess.run(
        [*line, str(scratch)], check=True, capture_output=True, text=True, env=env, timeout=COMMAND_SECONDS
    )
    assert done.stdout.startswith("UsageError running as root without CAP_CHOWN")
    assert not (scratch / "services/postgres/data").exists()


def test_closed_place(closed: Path) -> None:
    """Under root in a directory that nobody else may enter, the database lies in a private directory elsewhere, a
    pointer in scratch leads there, a later command finds it, and when it is gone the user is told."""
    scratch = closed / "scratch"
    for _ in range(2):
        with embedded_services(Settings(scratch=scratch), slots=1):
            addresses = running_services(scratch)
            assert psutil.Process(addresses.servers[0].pid).uids().effective != 0
    place = Path((scratch / "services" / "postgres.place").read_text().strip())
    assert closed not in place.parents
    assert (place / "data").stat().st_mode & 0o077 == 0
    assert (place / "password").stat().st_mode & 0o077 == 0
    assert not (scratch / "services/postgres/data").exists()
    (place / "data").rename(place / "moved")
    with pytest.raises(UsageError, match="is missing"), embedded_services(Settings(scratch=scratch), slots=1):
        pass
    remove_data(Home(scratch))
    assert not place.exists()
