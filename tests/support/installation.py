"""An installation that acceptance tests drive with the `edbench` command as a user does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from sqlalchemy import text

import core
from core.services.embedded import running_services
from sql.session import Database

PATIENCE = 120.0
EDBENCH = Path(sys.executable).parent / "edbench"


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Poll until the condition is true; its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.01)
    return value


@dataclass
class Bench:
    """One installation in a directory of its own, with a space in its path."""

    home: Path
    corpus: Path
    env: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    user: int | None = None  # whom commands run as, where we are root: see `become`

    def become(self, user: int) -> None:
        """Have commands run as this user, to whom the directory is given; skips where that cannot be had."""
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv to become another user with")
        self.user = user
        os.chown(self.home, user, user)
        environment = self._environment()
        for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
            self.python = python
            # A shell in between: setpriv itself may still pass through directories that the user may not.
            line = ["sh", "-c", 'exec "$0" -c "import cli.discover, worker.app"', python]
            if subprocess.run(self._as_user(line), env=environment, cwd="/", capture_output=True).returncode == 0:
                return
        pytest.skip(f"user {user} cannot run any interpreter with our packages")

    def _as_user(self, command: list[str]) -> list[str]:
        one = str(self.user)
        return ["setpriv", "--reuid", one, "--regid", one, "--clear-groups", *command]

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        if self.user is None:
            return [str(EDBENCH), *arguments]
        return self._as_user([self.python, "-m", "cli.main", *arguments])

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        if self.user is not None:  # another interpreter than ours does not know our packages
            packages = [str(Path(core.__file__).parents[1]), str(Path(psutil.__file__).parents[1])]
            kept |= {"PYTHONPATH": os.pathsep.join(packages), "PYTHONDONTWRITEBYTECODE": "1"}
        return kept | {
            "EDBENCH_STORAGE": str(self.home / "storage root"),
            "EDBENCH_SCRATCH": str(self.home / "scratch"),
            **self.env,
        }

    @property
    def storage(self) -> Path:
        return Path(self._environment()["EDBENCH_STORAGE"])

    @property
    def scratch(self) -> Path:
        return self.home / "scratch"

    def edbench(self, *arguments: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; its exit status must be `check`."""
        done = subprocess.run(
            self._command(arguments),
            env=self._environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, (
                f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.logs()}"
            )
        return done

    def start(self, *arguments: str, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Begin a command, under another program (strace, say) if one is given."""
        return subprocess.Popen(
            [*under, *self._command(arguments)],
            env=self._environment(),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def discover(self, *arguments: str, corpus: Path | None = None) -> subprocess.Popen[str]:
        """Begin a discovery job with a result file."""
        return self.start("discover", str(corpus or self.corpus), "--json", str(self.home / "r.json"), *arguments)

    def end(self, process: subprocess.Popen[str], check: int | None = 0) -> str:
        """Wait for a command's end; what it printed, standard output last."""
        out, err = process.communicate(timeout=300)
        if check is not None:
            assert process.returncode == check, f"{process.returncode}\n{out}\n{err}\n{self.logs()}"
        return err + out

    def result(self) -> dict[str, Any]:
        return dict(json.loads((self.home / "r.json").read_text()))

    def verify(self) -> dict[str, Any]:
        """`edbench verify` of the last job: zero differences, or the test fails with what it printed."""
        self.edbench("verify", "last", "--json", str(self.home / "v.json"))
        return dict(json.loads((self.home / "v.json").read_text()))

    def logs(self) -> str:
        """The end of every log."""
        tails = (f"== {p.name}\n{p.read_text(errors='replace')[-1500:]}" for p in (self.scratch / "logs").glob("*.log"))
        return "\n".join(tails)

    def addresses(self) -> Any:
        return until(lambda: running_services(self.scratch), "services come up")

    def query(self, sql: str, name: str = "db1") -> list[Any]:
        """Rows from a job database; [] while it cannot be asked."""
        services = running_services(self.scratch)
        if services is None:
            return []
        database = Database(name, services.server_of(name).url(name))
        try:
            with database.transaction() as conn:
                return list(conn.execute(text(sql)))
        except Exception:  # noqa: BLE001 - the server is being killed by the test
            return []
        finally:
            database.dispose()

    def until_tasks(self, process: subprocess.Popen[str], phase: str, done: int) -> None:
        """Wait until so many tasks of a phase are done; the job must still be at it."""

        def enough() -> bool:
            assert process.poll() is None, f"the job was over too soon\n{self.end(process, None)}"
            rows = self.query(f"SELECT count(*) FROM task WHERE phase = '{phase}' AND state = 'done'")
            return bool(rows) and rows[0][0] >= done

        until(enough, f"{done} tasks of {phase}")

    def processes(self, process: subprocess.Popen[str], *words: str) -> list[psutil.Process]:
        """Descendants of a running command whose command line holds all the words."""
        try:
            below = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        out = []
        for candidate in below:
            try:
                line = candidate.cmdline()
            except psutil.Error:
                continue
            if all(word in line for word in words):
                out.append(candidate)
        return out

    def supervisors(self, process: subprocess.Popen[str]) -> list[psutil.Process]:
        """The workers' parent processes."""
        found = self.processes(process, "worker", "--name")
        pids = {p.pid for p in found}
        return [p for p in found if p.ppid() not in pids]

    def slots(self, process: subprocess.Popen[str]) -> list[psutil.Process]:
        """The workers' child processes that run tasks, by what the ledger has running."""
        return [child for s in self.supervisors(process) for child in s.children()]

    def leftovers(self) -> list[str]:
        """Processes that still use this installation."""
        out = []
        for candidate in psutil.process_iter():
            try:
                if str(self.home) in " ".join(candidate.cmdline()) or candidate.environ().get(
                    "EDBENCH_SCRATCH", ""
                ) == str(self.scratch):
                    out.append(" ".join(candidate.cmdline()))
            except psutil.Error:
                continue
        return out
