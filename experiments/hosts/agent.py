"""The agent of a host that joined: says that it is there, does what the command of an experiment orders, until it is ended.

It stays when a command has ended and is there for the next one. Workers do not outlive their command: an agent that does not
reach the meeting place any more ends them.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import redis

from controller.cluster.embedded import EmbeddedCluster
from controller.versions import own_version
from core.clock import Clock, SystemClock
from core.errors import EdbenchError, SystemFault, UsageError
from core.records import ReplayChoice
from core.settings import read_settings
from experiments.hosts.messages import (
    ALIVE,
    ALIVE_SECONDS,
    ANSWERS,
    ORDERS,
    Answer,
    Clones,
    Drops,
    Hello,
    Look,
    Order,
    Work,
)
from experiments.hosts.meters import HostMeter
from experiments.hosts.seat import seat
from experiments.hosts.sight import look_at
from experiments.workloads.discovery.cold import drop
from monitoring.broker import connect
from replay.ceiling import Ceiling, ceiling

_BEAT_SECONDS = 1.0
_KEEP_ANSWER_SECONDS = 600
_ROOT_SECONDS = 20.0  # for what the command made to be seen here: clients cache what is not there
_GRACE_SECONDS = 10.0  # for workers
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Agent:
    """`url`: of the meeting place, with a login; `version`: of this installation; `scratch`: no other agent's."""

    def __init__(
        self, url: str, name: str, scratch: Path, env: Mapping[str, str], say: Callable[[str], None],
        version: str | None = None, clock: Clock | None = None,
    ) -> None:  # fmt: skip
        if not _NAME.fullmatch(name):
            raise UsageError(f"--name is {name!r}; it must be letters, digits, dots, dashes or underscores, 63 at most")
        self._hello = Hello(name=name, incarnation=secrets.token_hex(8), version=version or own_version())
        self._scratch, self._env, self._say, self._clock = scratch, env, say, clock or SystemClock()
        self._before = ""  # the agent that was here before, as long as it may be said to be there
        self._beat_number = 0
        self._orders: Any = connect(url, block_seconds=ALIVE_SECONDS)
        self._beats: Any = connect(url)
        self._stop = threading.Event()
        self._crew: EmbeddedCluster | None = None
        self._meter: HostMeter | None = None
        self._does: Mapping[str, Callable[[dict[str, Any]], object]] = {
            "see": lambda of: look_at(msgspec.convert(of, Look), name),
            "clock": lambda _of: {"now": self._clock.now()},
            "work": lambda of: self._work(msgspec.convert(of, Work)),
            "drop": lambda of: _drop(msgspec.convert(of, Drops), name),
            "leave": lambda _of: self._leave(),
            "ceiling": lambda of: _ceiling(msgspec.convert(of, Clones), self._scratch),
        }

    def stop(self) -> None:
        """End in good order; from a signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Until stopped. Raises UsageError when the login is refused, or another agent is here."""
        with seat(self._scratch, self._hello.name, self._hello.incarnation) as self._before:
            self._run()

    def _run(self) -> None:
        beating = threading.Thread(target=self._beat, name="beat", daemon=True)
        beating.start()
        heard = self._clock.monotonic_ns()
        silent = False
        try:
            while not self._stop.is_set():
                try:
                    self._step()
                except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
                    raise UsageError(f"the meeting place refuses this login ({error}): see docs/hosts.md") from error
                except redis.RedisError as error:
                    if self._clock.monotonic_ns() - heard > ALIVE_SECONDS * 1e9:
                        self._end_workers()
                    if not silent:
                        self._say(f"no experiment answers there now ({error}); retrying")
                    silent = True
                    self._stop.wait(_BEAT_SECONDS)
                else:
                    if silent:
                        self._say("an experiment answers")
                    heard, silent = self._clock.monotonic_ns(), False
        finally:
            self._stop.set()
            beating.join()
            self._part()
            self._end_workers()

    def _step(self) -> None:
        """One order, if there is one. Raises redis.RedisError."""
        taken = self._orders.blpop(f"{ORDERS}{self._hello.incarnation}", timeout=_BEAT_SECONDS)
        if taken is None:
            self._look()
            return
        order = msgspec.json.decode(taken[1], type=Order)
        try:
            done = self._does[order.what](order.of)
            answer = Answer(of=msgspec.to_builtins(done) if done is not None else {})
        except (EdbenchError, OSError, msgspec.ValidationError) as error:
            answer = Answer(refused=" ".join(str(error).split()))
        key = f"{ANSWERS}{order.id}"
        self._orders.rpush(key, msgspec.json.encode(answer))
        self._orders.expire(key, _KEEP_ANSWER_SECONDS)

    def _look(self) -> None:
        if self._meter is not None:
            self._meter.look()
        if self._crew is not None:
            try:
                self._crew.check()
            except SystemFault as fault:
                self._hello = dataclasses.replace(self._hello, trouble=str(fault))

    def _work(self, work: Work) -> None:
        self._end_workers()
        settings = read_settings({**work.environment, "EDBENCH_SCRATCH": str(self._scratch)})
        _wait_for(settings.storage)
        name = self._hello.name

        def command(worker: str, slots: int) -> Sequence[str]:
            return (sys.executable, "-m", "worker", "--name", worker_name(name, worker), "--slots", str(slots))

        crew = EmbeddedCluster(settings, work.workers, work.slots, env=self._env, commands=command, managed=False)
        self._meter = HostMeter(settings.storage)
        self._crew = crew
        crew.start()

    def _leave(self) -> object:
        """What the host counted; the workers end."""
        meters = None if self._meter is None else self._meter.read()
        self._end_workers()
        return meters

    def _end_workers(self) -> None:
        crew, self._crew, self._meter = self._crew, None, None
        self._hello = dataclasses.replace(self._hello, trouble="")
        if crew is not None:
            crew.stop(_GRACE_SECONDS)

    def _beat(self) -> None:
        while not self._stop.wait(_BEAT_SECONDS if self._said() else _BEAT_SECONDS / 4):
            pass

    def _said(self) -> bool:
        """Whether the meeting place knows now that this host is there."""
        try:
            if self._before:
                self._beats.delete(f"{ALIVE}{self._before}")
                self._before = ""
            self._beat_number += 1
            hello = dataclasses.replace(self._hello, beat=self._beat_number)
            self._beats.set(f"{ALIVE}{hello.incarnation}", msgspec.json.encode(hello), px=int(ALIVE_SECONDS * 1_000))
        except redis.RedisError:
            return False  # the other thread says so
        return True

    def _part(self) -> None:
        """Nobody has to wait until it is noticed."""
        try:
            self._beats.delete(f"{ALIVE}{self._hello.incarnation}")
        except redis.RedisError:
            self._say("left without a word: no experiment answers")
        for client in (self._beats, self._orders):
            client.close()


def worker_name(host: str, worker: str) -> str:
    """Unique over all hosts of a run."""
    return f"{host}-{worker}"


def host_of(worker: str) -> str:
    """The inverse."""
    return worker.rpartition("-")[0]


def _drop(drops: Drops, name: str) -> object:
    return dataclasses.replace(drop([Path(one) for one in drops.directories], drops.when), host=name)


def _ceiling(clones: Clones, scratch: Path) -> Ceiling:
    """Raises SystemFault where it is not known."""
    _wait_for(Path(clones.trace))
    choice = ReplayChoice(clients=clones.clients, paths=(), speed=0.0, shared=clones.shared, seed=clones.seed)
    found = ceiling(Path(clones.trace), choice, scratch)
    if isinstance(found, str):
        raise SystemFault(found)
    return found


def _wait_for(path: Path) -> None:
    """Until it is here. Raises SystemFault when it does not come."""
    deadline = time.monotonic() + _ROOT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemFault(f"{path}, which the command made, is not here")
        time.sleep(0.1)
