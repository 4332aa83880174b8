"""An installation that acceptance tests drive with the `edbench` command as a user does."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import commands
import psutil
import pytest
from commands import Command
from schema_check import refuse_unlike_schema
from servers import copy_scratch

import core
import readers
from cli.main import main
from controller.jobs.run import processes
from core.records import JobState
from core.roles import CONTROLLER
from core.services import embedded_services
from core.services.embedded import running_services
from core.settings import Settings, read_settings
from sql.session import Database

_SLOWER = float(os.environ.get("TESTS_SLOWER", "1"))  # how much slower than usual this machine is: an emulated one
PATIENCE = 300.0 * _SLOWER  # for a condition; seconds on an idle machine, minutes where all processors are busy
COMMAND_SECONDS = 600.0 * _SLOWER  # for a whole command, as above
EDBENCH = Path(sys.executable).parent / "edbench"
Running = subprocess.Popen[str] | Command


def until(condition: Callable[[], Any], what: str = "it happens", seconds: float = PATIENCE) -> Any:
    """Poll until the condition is true; its value. Less often the longer it takes: many a look costs milliseconds of the
    processors that what is waited for needs."""
    begun = time.monotonic()
    while not (value := condition()):
        waited = time.monotonic() - begun
        assert waited < seconds, f"{what}: not within {seconds:.0f} s"
        time.sleep(min(0.01 + waited / 20, 0.1))
    return value


@dataclass(frozen=True)
class Hold:
    """A phase of a job that is held once so many of its tasks have begun, or of "<phase>-end" have done their work
    (`hold_plugin`)."""

    directory: Path
    phase: str

    def after(self, tasks: int) -> None:
        """Let so many tasks begin, over all workers and attempts, and hold the next ones."""
        new = self.directory / f"{self.phase}.new"
        new.write_text(str(tasks))
        new.rename(self.directory / self.phase)

    def until_reached(self, process: Running | None) -> psutil.Process:
        """Wait until a task is held; its slot. The command must still be at it, if one waits for the job."""

        def reached() -> int:
            pid = self.reached()
            if process is not None:
                assert pid or process.poll() is None, f"the command was over too soon: {process.communicate()}"
            return pid

        return psutil.Process(until(reached, f"a task of {self.phase} is held"))

    def reached(self) -> int:
        """The process of a slot that holds a task now; 0: none does."""
        mark = self.directory / f"{self.phase}.{(self.directory / self.phase).read_text()}.reached"
        return int(mark.read_text() or 0) if mark.exists() else 0

    def let_go(self) -> None:
        """Hold nothing any more."""
        (self.directory / self.phase).unlink()


@dataclass
class Bench:
    """One installation in a directory of its own, with a space in its path."""

    home: Path
    corpus: Path
    env: dict[str, str] = field(default_factory=dict)
    python: str = sys.executable
    furniture: Path | None = None  # scratch of an installation without jobs, which the first job begins with
    user: int | None = None  # whom commands run as, where we are root: see `become`
    begun: list[Command] = field(default_factory=list)  # of forked ones

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
        return self._as_user([self.python, "-m", "cli", *arguments])

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EDBENCH_")}
        if self.user is not None:  # another interpreter than ours does not know our packages
            packages = [str(Path(module.__file__).parents[1]) for module in (core, readers, psutil)]
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
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        status = process.returncode
        assert status is not None
        assert check in (None, status), f"{arguments}: {status}\n{out}\n{err}\n{self.logs()}"
        return subprocess.CompletedProcess(arguments, status, out, err)

    def chaos(self, *arguments: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a campaign of faults to its end; its exit status must be `check`."""
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parents[2] / "chaos"), *arguments],
            env=self._environment(),
            cwd=self.home,
            capture_output=True,
            text=True,
        )
        assert check in (None, done.returncode), f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def ask(self, *arguments: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """As `edbench`, in this process, which has everything loaded (unless its user is another): for commands that only
        tell what there is, or are refused."""
        if self.user is not None:
            return self.edbench(*arguments, check=check)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(self.home):
            status = main(arguments, self._environment())
        assert check in (None, status), f"{arguments}: {status}\n{out.getvalue()}\n{err.getvalue()}\n{self.logs()}"
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())

    @contextlib.contextmanager
    def attached(self) -> Iterator[Settings]:
        """The services stay up: commands attach to them, which is faster than each having its own."""
        self.furnish()
        with embedded_services(read_settings(self._environment()), slots=16) as settings:
            yield settings

    @contextlib.contextmanager
    def standing(self, slots: int = 2) -> Iterator[None]:
        """As on a site: services, a queue manager and a worker stay up, and commands give them jobs. To bring them takes
        seconds of a processor, for each job whose command does. Workers that a job is held by: `holdable` comes first."""
        with (
            self.attached() as settings,
            commands.forked_crews(),
            processes(settings, 1, slots, os.environ | self.env),
        ):
            reported = settings.for_role(CONTROLLER).environment()
            theirs = {name: reported[name] for name in ("EDBENCH_DATABASES", "EDBENCH_BROKER")}
            self.env |= theirs
            try:
                yield
            finally:
                for name in theirs:
                    del self.env[name]

    def start(self, *arguments: str) -> Running:
        """Begin a command; forked from one that has loaded it, where that makes no difference."""
        if self.user is not None or not commands.forkable(self.env):
            return self.start_afresh(*arguments)
        command = commands.begin(arguments, self._environment(), self.home)
        self.begun.append(command)
        return command

    def start_afresh(self, *arguments: str, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Begin one as a shell does, with pipes to its output; under another program (strace, say) if one is given."""
        return subprocess.Popen(
            [*under, *self._command(arguments)],
            env=self._environment(),
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def furnish(self) -> "Bench":
        """Put the furniture in, if there is any and nothing is there yet."""
        if self.furniture is not None and self.user is None and not self.scratch.exists():
            copy_scratch(self.furniture, self.scratch)
        return self

    def discover(self, *arguments: str, corpus: Path | None = None) -> Running:
        """Begin a discovery job with a result file."""
        self.furnish()
        return self.start("discover", str(corpus or self.corpus), *self.to_result, *arguments)

    def discover_held(
        self, phase: str, after: int, *arguments: str, corpus: Path | None = None
    ) -> tuple[Running, Hold]:
        """Begin a discovery, and wait until a task of this phase is held, once so many have begun."""
        hold = self.hold(phase, after)
        process = self.discover(*arguments, corpus=corpus)
        hold.until_reached(process)
        return process, hold

    def end(self, process: Running, check: int | None = 0) -> str:
        """Wait for a command's end; what it printed, standard output last."""
        out, err = process.communicate(timeout=COMMAND_SECONDS)
        if check is not None:
            assert process.returncode == check, f"{process.returncode}\n{out}\n{err}\n{self.logs()}"
        return err + out

    @property
    def to_result(self) -> tuple[str, ...]:
        """Options that write the document of a command where `result` reads it."""
        return "-o", "json", "--output-file", str(self.home / "r.json")

    def result(self) -> dict[str, Any]:
        return dict(json.loads((self.home / "r.json").read_text()))

    def verify(self) -> dict[str, Any]:
        """`edbench verify` of the last job: zero differences, or the test fails with what it printed."""
        self.ask("verify", "last", "-o", "json", "--output-file", str(self.home / "v.json"))
        found = dict(json.loads((self.home / "v.json").read_text()))
        refuse_unlike_schema("verify", found)
        return found

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
                return conn.execute(sql).all()
        except Exception:  # noqa: BLE001 - the server is being killed by the test
            return []
        finally:
            database.dispose()

    def hold(self, phase: str, after: int = 1) -> Hold:
        """Have the next job stop in the middle of a phase: whatever is done to it then finds it there."""
        made = self.holdable(phase)
        made.after(after)
        return made

    def holdable(self, phase: str) -> Hold:
        """Have workers that come from now on stop there, whenever they are told to."""
        made = Hold(self.home / "hold", phase)
        made.directory.mkdir(exist_ok=True)
        self.env |= {"PYTHONPATH": str(Path(__file__).parents[1] / "plugins"), "EDBENCH_PLUGINS": "hold_plugin"}
        return made

    def spare_the_machine(self) -> None:
        """Have `--cold` drop no more than a user who is not root may: see `gentle`."""
        before = [self.env["PYTHONPATH"]] if "PYTHONPATH" in self.env else []
        self.env["PYTHONPATH"] = os.pathsep.join([*before, str(Path(__file__).parents[1] / "gentle")])

    def until_over(self) -> None:
        """Wait until every job is: on a site `resume` sets one running, and waits for nothing."""
        over = ", ".join(f"'{state}'" for state in JobState if state.over)
        until(lambda: self.query(f"SELECT count(*) FROM job WHERE state NOT IN ({over})") == [(0,)], "the job is over")

    def until_pausing(self) -> None:
        """Wait until the job has been asked to pause; a task that is held keeps it from being paused."""
        until(lambda: self.query("SELECT 1 FROM job WHERE state = 'pausing'"), "the job is asked to pause")

    def processes(self, process: Running, *words: str) -> list[psutil.Process]:
        """Descendants of a running command whose command line holds all the words."""
        try:
            below = psutil.Process(process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [candidate for candidate in below if set(words) <= set(_line(candidate))]

    def supervisors(self, process: Running) -> list[psutil.Process]:
        """The workers' parent processes."""
        found = self.processes(process, "worker", "--name")
        not_theirs = {None, *(p.pid for p in found)}
        return [p for p in found if _parent(p) not in not_theirs]

    def slots(self, process: Running) -> list[psutil.Process]:
        """The workers' child processes: slots and reporters."""
        return [child for supervisor in self.supervisors(process) for child in children_of(supervisor)]

    def leftovers(self) -> list[str]:
        """Processes that still use this installation."""
        out = ["edbench " + " ".join(one.words) for one in self.begun if one.poll() is None]
        for candidate in psutil.process_iter():
            try:
                if str(self.home) in " ".join(candidate.cmdline()) or candidate.environ().get(
                    "EDBENCH_SCRATCH", ""
                ) == str(self.scratch):
                    out.append(" ".join(candidate.cmdline()))
            except psutil.Error:
                continue
        return out


def children_of(process: psutil.Process) -> list[psutil.Process]:
    """Its children; none when it has ended meanwhile."""
    try:
        return list(process.children())
    except psutil.NoSuchProcess:
        return []


def is_gone(process: psutil.Process | int) -> bool:
    """Whether it, or the process of this id, has ended; one that is not reaped yet has."""
    try:
        one = psutil.Process(process) if isinstance(process, int) else process
        return not one.is_running() or bool(one.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _line(process: psutil.Process) -> list[str]:
    """Its command line; nothing when it has ended meanwhile."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _parent(process: psutil.Process) -> int | None:
    """Its parent's process id; None when it has ended meanwhile."""
    try:
        return int(process.ppid())
    except psutil.NoSuchProcess:
        return None


@pytest.fixture
def bench(small_corpus: Path, empty_scratch: Path) -> Iterator[Bench]:
    """An installation of this test's own, from a path with spaces; nothing may be left running afterwards."""
    home = Path(tempfile.mkdtemp(prefix="edbench acceptance "))
    home.chmod(0o711)
    made = Bench(home=home, corpus=small_corpus, furniture=empty_scratch)
    try:
        yield made
        until(lambda: not made.leftovers(), f"nothing left running: {made.leftovers()}")
    finally:
        for command in made.begun:
            command.kill()
        for candidate in psutil.process_iter():
            try:
                if candidate.environ().get("EDBENCH_SCRATCH", "") == str(made.scratch):
                    candidate.send_signal(signal.SIGKILL)
            except psutil.Error:
                continue
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def attached(bench: Bench) -> Iterator[None]:
    """Its services stay up for the whole test, and are not started anew by each command."""
    with bench.attached():
        yield
