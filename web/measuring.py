"""Measurements as child processes of the server, one at a time; they end with the server."""

from __future__ import annotations

import enum
import fcntl
import functools
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from controller.custody import operator
from controller.jobs.orders import DiscoveryOrder
from controller.jobs.overview import Overview
from core.document import TEXT, Document
from core.errors import UsageError
from core.extensions import extension_modules
from core.services.process import spawn, stop
from core.settings import Settings, numbers, parse_bytes
from dataset_gen.orders import CorpusOrder
from dataset_gen.profile import profile_names
from experiments.kinds import checked, parse_bounds
from experiments.orders import (
    ALIKE,
    TUNED_ALIKE,
    DayOrder,
    JobTypesOrder,
    KneePoints,
    R1Points,
    ScaleOutPoints,
    ScaleUpPoints,
    StudyOrder,
    SweepPoints,
    TunePoints,
    day_loads,
    r1_rows,
)
from experiments.package.records import RESULTS
from experiments.workloads.discovery.setting import crossed, named
from web.api.models.jobs import NewJob
from web.context import WebContext
from web.errors import NotFound
from web.results import chosen_source

_OURS = frozenset(
    ("corpus", "source", "profile", "name", "paths", "setting", "job", "result")
)  # not options of the same name


def some(of: type[Document], names: Iterable[str]) -> type[Document]:
    """A document type with these fields of another one."""
    fields: dict[str, Any] = {name: (of.model_fields[name].annotation, of.model_fields[name]) for name in names}
    return create_model(f"Some{of.__name__}", __base__=Document, **fields)


_WHERE = some(NewJob, ("corpus", "source"))
GivenPath = Annotated[str, Field(max_length=4_000, pattern=TEXT)]


class NewCorpus(CorpusOrder):
    """Options of `edbench corpus generate`; the corpus is a directory in `corpora` of the storage root."""

    name: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")] = Field(
        description="name of its directory: letters, digits, dots, _ and -"
    )

    def arguments(self, storage: Path) -> list[str]:
        """The arguments after the options."""
        return [f"--profile={self.profile}", "--", str(storage / "corpora" / self.name)]


def _of_corpus(context: WebContext, order: Any) -> list[str]:
    return [f"--corpus={chosen_source(context, order.corpus, order.source)}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of measurement."""

    name: str
    does: str
    model: type[Document]
    check: Callable[[Any], object]  # raises UsageError with the field
    group: str = "bench"  # of the command
    command: str = ""  # in the group, if it is not the name
    # Of the command, after its options; raises FieldErrors.
    arguments: Callable[[WebContext, Any], list[str]] = _of_corpus
    template: str = "measure.html"
    shown: Callable[[WebContext, Overview, Mapping[str, str]], dict[str, Any]] = lambda *_: {}  # more values for it
    press: str = "Measure"  # on its button
    leaves: str = ""  # what it leaves if it has no result

    @property
    def words(self) -> tuple[str, str]:
        """The group and name of the command."""
        return self.group, self.command or self.name

    @property
    def of_corpus(self) -> bool:
        """Whether it needs a corpus."""
        return self.arguments is _of_corpus


def model(name: str, *parts: type[Document]) -> type[Document]:
    return create_model(name, __base__=parts, __doc__=f"As `edbench {name}`, in the words of the command's options.")


def at(field: str, check: Callable[[], object]) -> None:
    """Report errors at this field."""
    try:
        check()
    except UsageError as error:
        raise UsageError(str(error), field=field) from error


def check_sizes(order: Any) -> None:
    for name in ("filer_cache", "null_memory"):
        text = getattr(order, name, None)
        if text is not None:
            at(name, partial(parse_bytes, text, f"--{name.replace('_', '-')}"))


def _checks(**parsed: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a check that parses each given field as the command does; axes and sizes are checked in every order."""

    def check(order: Any) -> None:
        for field, parse in parsed.items():
            if (value := getattr(order, field)) is not None:
                at(field, partial(parse, value))
        if getattr(order, "axis", None) or getattr(order, "mount_options", None):
            _crossed(order)
        check_sizes(order)

    return check


def _numbers(field: str) -> Callable[[Any], None]:
    return _checks(**{field: lambda text: checked(numbers(text, f"--{field}"), f"--{field}")})


def _crossed(order: Any) -> None:
    at("axis", partial(crossed, order.axis or (), order.mount_options))
    check_sizes(order)


def _profile(order: Any) -> None:
    if order.profile not in profile_names():  # a file's path is for the command line only
        raise UsageError(
            f"corpus profile {order.profile!r} does not exist; choose one of {', '.join(profile_names())}",
            field="profile",
        )


def target_roots(context: WebContext) -> list[str]:
    """The directories that tests and replays may write below."""
    return [str(context.settings.storage), *map(str, context.targets)]


_ALIKE = some(DiscoveryOrder, ALIKE)
_KINDS = (
    Kind(
        name="scale-up",
        does="process a corpus with increasing numbers of workers",
        model=model("ScaleUp", _ALIKE, StudyOrder, ScaleUpPoints, _WHERE),
        check=_numbers("workers"),
    ),
    Kind(
        name="scale-out",
        does="process a corpus with the same workers and increasing numbers of databases",
        model=model("ScaleOut", some(DiscoveryOrder, (*ALIKE, "shard")), StudyOrder, ScaleOutPoints, _WHERE),
        check=_numbers("databases"),
    ),
    Kind(
        name="knee",
        does="add workers until a latency bound is exceeded",
        model=model("Knee", _ALIKE, StudyOrder, KneePoints, _WHERE),
        check=_checks(max_p99=parse_bounds),
    ),
    Kind(
        name="tune",
        does="find a better distribution of tasks for a number of workers",
        model=model("Tune", some(DiscoveryOrder, TUNED_ALIKE), StudyOrder, TunePoints, _WHERE),
        check=_checks(setting=named),
    ),
    Kind(
        name="sweep",
        does="compare combinations of settings",
        model=model("Sweep", _ALIKE, StudyOrder, SweepPoints, _WHERE),
        check=_crossed,
    ),
    Kind(
        name="job-types",
        does="compare discovery, extraction, processing and export of the same data",
        model=model("JobTypes", JobTypesOrder, _WHERE),
        check=_numbers("workers"),
    ),
    Kind(
        name="day",
        does="let matters arrive at increasing rates, each with all types of jobs",
        model=model("Day", DayOrder, _WHERE),
        check=_checks(matters=day_loads),
    ),
    Kind(
        name="r1",
        does="run the three rows of report R1",
        model=model("R1", _ALIKE, StudyOrder, R1Points, _WHERE),
        check=_checks(workers=r1_rows),
    ),
    Kind(
        name="generate",
        does="generate a corpus with a manifest of its items",
        model=NewCorpus,
        group="corpus",
        check=_profile,
        press="Generate",
        leaves="Job forms then offer the corpus.",
        arguments=lambda context, order: order.arguments(context.settings.storage),
        template="measure_corpus.html",
        shown=lambda *_: {"corpus_profiles": profile_names()},
    ),
)


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """The kinds by name, with those of optional packages: `kinds` of the modules of `edbench.web`."""
    added = (kind for module in extension_modules("edbench.web") for kind in getattr(module, "kinds", ()))
    return {kind.name: kind for kind in (*_KINDS, *added)}


def command(kind: Kind, order: Document, arguments: Sequence[str] = ()) -> list[str]:
    """The words of the command: each option that differs from its default, joined with its value so that no value is
    taken for an option, then `arguments`."""
    out = [*kind.words]
    for name, value in order:
        usual = value is None or value is False or value == type(order).model_fields[name].default
        if name not in _OURS and not usual:
            option = f"--{name.replace('_', '-')}"
            each = value if isinstance(value, list) else [value.value if isinstance(value, enum.Enum) else value]
            out += [option if one is True else f"{option}={one}" for one in each]
    return [*out, *arguments]


_REMEMBERED = 50
_TAIL = 64 << 10  # bytes of a log that are shown
_PATIENCE_S = 60.0  # to clean up when the server ends
_SECRET = ("EDBENCH_TOKEN", "EDBENCH_TOKEN_FILE")  # of the web UI; no measurement uses it
_SERVICES = ("EDBENCH_DATABASES", "EDBENCH_BROKER", "EDBENCH_LOGIN_FILE")
_REPORT = re.compile(rf"^.*/{RESULTS}/([^/\n]+)/[^/\n]+$", re.MULTILINE)


class Measurement(Document):
    """A measurement; times by the server's clock."""

    id: uuid.UUID
    kind: str
    command: list[str] = Field(description="Its arguments to `edbench`.")
    who: str
    begun: datetime
    ended: datetime | None = None
    state: Literal["running", "cancelling", "completed", "cancelled", "refused", "failed"] = "running"
    line: str = Field(default="", description="Its last error line.")
    result: str | None = Field(default=None, description="The name of its result.")


class Measurements:
    """The measurements of one server. Its scratch directory contains their logs and clean-up records."""

    def __init__(self, settings: Settings, env: Mapping[str, str], *, embedded: bool = True) -> None:
        """Set up measurements. `embedded`: each starts services of its own; else it uses those of this installation,
        and their workers."""
        self._storage = settings.storage.absolute()
        self._place = settings.scratch.absolute() / "measurements"
        left_out = (*_SECRET, *_SERVICES) if embedded else _SECRET
        kept = {name: value for name, value in env.items() if name not in left_out}
        own = {"EDBENCH_STORAGE": str(self._storage), "EDBENCH_SCRATCH": str(self._place / "scratch")}
        self._env = kept | own
        self._lock = threading.RLock()
        self._all: dict[uuid.UUID, Measurement] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def refuse(self) -> None:
        """Raise UsageError while a measurement runs, because it would be distorted."""
        running = next((each for each in self.every() if each.ended is None), None)
        if running is not None:
            raise UsageError(f"a measurement is running ({running.kind}); wait until it ends, or cancel it")

    def start(self, kind: str, words: Sequence[str]) -> Measurement:
        """Start a measurement. Raises UsageError while one runs, here or in another server of the same scratch."""
        with self._lock:
            self.refuse()
            self._place.mkdir(mode=0o711, parents=True, exist_ok=True)
            held = _held(self._place / "lock")
            made = Measurement(id=uuid.uuid4(), kind=kind, command=list(words), who=operator(), begun=datetime.now(UTC))
            self._all[made.id] = made
            while len(self._all) > _REMEMBERED:
                gone = next(iter(self._all))
                self._log(gone).unlink(missing_ok=True)
                del self._all[gone]
            begun = threading.Event()
            # The thread that starts a child has to live as long as it: the kernel ends the child with the thread.
            self._thread = threading.Thread(
                target=self._follow, args=(made, held, begun), name=f"measurement {kind}", daemon=True
            )
            self._thread.start()
        begun.wait()
        return self.of(made.id)

    def _follow(self, made: Measurement, held: int, begun: threading.Event) -> None:
        try:
            # Python must not search the working directory for modules.
            line = [sys.executable, "-P", "-m", "cli", *made.command]
            self._process = spawn(
                line, env=self._env, log=self._log(made.id), cwd=Path.cwd(), death_signal=signal.SIGTERM
            )
            begun.set()
            status = self._process.wait()
        except OSError as error:
            self._over(made.id, state="failed", line=f"it cannot be started: {error}")
            return
        finally:
            os.close(held)
            begun.set()
            self._process = None
        output = self.log(made.id)
        cancelled = self._all[made.id].state == "cancelling"
        state = {0: "completed", 2: "refused"}.get(status, "failed")
        complaints = [each.removeprefix("edbench: ") for each in output.splitlines() if each.startswith("edbench: ")]
        found = _REPORT.findall(output) if status == 0 else []
        self._over(
            made.id,
            state="cancelled" if cancelled and status != 0 else state,
            line=complaints[-1] if complaints else "" if status == 0 else f"it ended with status {status}",
            result=found[-1] if found else None,
        )

    def _over(self, identity: uuid.UUID, **changes: object) -> None:
        with self._lock:
            self._all[identity] = self._all[identity].model_copy(update=changes | {"ended": datetime.now(UTC)})

    def every(self) -> list[Measurement]:
        """All measurements, the newest first."""
        with self._lock:
            return list(reversed(self._all.values()))

    def of(self, identity: uuid.UUID) -> Measurement:
        """The measurement with this id. Raises NotFound."""
        with self._lock:
            if identity not in self._all:
                raise NotFound("this server has started no such measurement; GET /api/v1/measurements lists them")
            return self._all[identity]

    def log(self, identity: uuid.UUID) -> str:
        """The end of its output."""
        self.of(identity)
        try:
            with self._log(identity).open("rb") as source:
                source.seek(max(0, source.seek(0, os.SEEK_END) - _TAIL))
                return source.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def _log(self, identity: uuid.UUID) -> Path:
        return self._place / f"{identity}.log"

    def cancel(self, identity: uuid.UUID) -> Measurement:
        """Stop a measurement as Ctrl-C does, which cleans up. The second time, kill it. Raises UsageError if it is
        over."""
        with self._lock:
            one, process = self.of(identity), self._process
            if one.ended is not None or process is None:
                raise UsageError("this measurement has ended")
            if one.state == "cancelling":
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.send_signal(signal.SIGTERM)
            self._all[identity] = one.model_copy(update={"state": "cancelling"})
            return self._all[identity]

    def stop(self) -> None:
        """Stop the running measurement, with the server."""
        with self._lock:
            process, thread = self._process, self._thread
        if process is not None:
            stop(process, [(signal.SIGTERM, _PATIENCE_S)])
        if thread is not None:
            thread.join()


def _held(path: Path) -> int:
    """The lock of all measurements with this scratch directory. Raises UsageError while another process holds it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise UsageError("another server with this scratch is measuring; wait until it ends") from error
    return lock
