"""The hosts of an experiment: waited for, looked at before they may work, and asked together."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from controller.versions import own_version
from core.errors import RunFailed, SystemFault, UsageError
from core.memory import client_memory
from experiments.drops import Drop
from experiments.hosts.meeting import LONG_SECONDS, Meeting
from experiments.hosts.messages import Drops, Hello, Look, Sight
from experiments.hosts.sight import mounted, refuse_other_mount, refuse_other_storage, token_in

BACK_SECONDS = 60.0  # that a lost host, or another in its place, is waited for
_POLL_SECONDS = 0.2
_MOST_OFFSET_SECONDS = 1.0  # of a host's clock: what it calls is told by the second, and a trace by less


@dataclass(frozen=True, slots=True)
class Host:
    """One that may work."""

    hello: Hello
    sight: Sight

    @property
    def name(self) -> str:
        return self.hello.name

    @property
    def boot(self) -> str:
        """Hosts that are parts of one machine (containers, namespaces) have the same."""
        return str(self.sight.host["boot_id"])


class Fleet:
    """`wanted` hosts of those at the meeting place. `source`: a directory that all have to see beside the storage."""

    def __init__(self, meeting: Meeting, wanted: int, storage: Path, source: Path, say: Callable[[str], None]) -> None:
        self.meeting, self.wanted = meeting, wanted
        self._storage, self._source, self._say = storage, source, say
        self._admitted: dict[str, Host] = {}  # by incarnation

    def await_all(self, seconds: float) -> list[Host]:
        """All that are wanted, those first that worked before. Raises UsageError for one that may not work, RunFailed when
        they do not come."""
        deadline = time.monotonic() + seconds
        doubles = Doubles()
        while True:
            present = sorted(self.meeting.present(), key=lambda hello: hello.incarnation not in self._admitted)
            chosen = present[: self.wanted]
            new = {hello.name for hello in chosen if hello.incarnation not in self._admitted}
            doubled = doubles.among([hello for hello in present if hello.name in new])
            if not doubled and len(chosen) == self.wanted:
                hosts = [self._admit(hello) for hello in chosen]
                return sorted(hosts, key=lambda host: host.name)
            if time.monotonic() > deadline:
                here = ", ".join(hello.name for hello in present) or "nobody"
                raise RunFailed(f"{self.wanted} hosts are required, and after {seconds:.0f} s there is {here}")
            time.sleep(_POLL_SECONDS)

    @property
    def admitted(self) -> list[Host]:
        """All that have been, those with them that were lost."""
        return list(self._admitted.values())

    def _admit(self, hello: Hello) -> Host:
        known = self._admitted.get(hello.incarnation)
        if known is not None:
            return known
        if hello.version != own_version():
            raise UsageError(
                f"host {hello.name} has edbench {hello.version}, this command is {own_version()}: give all hosts one version"
            )
        host = Host(hello, self._seen_by(hello))
        offset, error = self.meeting.offset(hello)
        if abs(offset) - error > _MOST_OFFSET_SECONDS:
            raise UsageError(
                f"the clock of host {hello.name} is {abs(offset):,.1f} s {'ahead of' if offset > 0 else 'behind'} this"
                " one's, so that its calls would have wrong times: synchronise it"
            )
        self._say(
            f"host {hello.name}: {host.sight.host['processors']} cores, {mounted(host.sight.storage)} at"
            f" {self._storage}, clock {offset * 1e3:+.3f} ms from this one's (within {error * 1e3:.3f} ms)"
        )
        for other in self._admitted.values():
            refuse_other_mount(self._storage, (other.name, other.sight.storage), (host.name, host.sight.storage))
        self._admitted[hello.incarnation] = host
        return host

    def _seen_by(self, hello: Hello) -> Sight:
        with token_in(self._storage) as (token, text):
            look = Look(storage=str(self._storage), token=str(token), source=str(self._source))
            try:
                sight = msgspec.convert(self.meeting.ask(hello, "see", look), Sight)
            except SystemFault as fault:
                raise UsageError(f"host {hello.name} cannot be used: {fault}") from fault
            refuse_other_storage(hello, sight, look, text)
            return sight

    def offsets(self, hosts: Sequence[Host]) -> dict[str, tuple[float, float]]:
        """Of each host: its clock less this one's, and by how much that may be off. Raises SystemFault, HostLost."""
        return {host.name: self.meeting.offset(host.hello) for host in hosts}

    def drop(self, directories: Sequence[Path], when: str) -> list[Drop]:
        """Have every host that is admitted and here drop its caches, at the same time."""
        here = {hello.incarnation for hello in self.meeting.present()}
        order = Drops(directories=tuple(map(str, directories)), when=when)
        asked = [(host.hello, order) for host in self._admitted.values() if host.hello.incarnation in here]
        return [msgspec.convert(answer, Drop) for answer in self.meeting.ask_all(asked, "drop", LONG_SECONDS)]


class Doubles:
    """Hosts of one name. An agent that was killed and started again is there twice until the first is not heard of any
    more; that is waited for. Where both are heard they are two hosts."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}  # beat by incarnation, when they were seen together first

    def among(self, present: Sequence[Hello]) -> bool:
        """Whether there are any. Raises UsageError for two that both live."""
        names = Counter(hello.name for hello in present)
        doubled = [hello for hello in present if names[hello.name] > 1]
        self._first = {one.incarnation: self._first.get(one.incarnation, one.beat) for one in doubled}
        alive = Counter(one.name for one in doubled if one.beat > self._first[one.incarnation])
        for name in sorted(name for name, count in alive.items() if count > 1):
            raise UsageError(f"two hosts have the name {name}: join one of them with another --name")
        return bool(doubled)


def processors_of(hosts: Sequence[Host]) -> int:
    """Of all machines together, each once."""
    return sum(_by_machine(hosts, "processors").values())


def memory_of(hosts: Sequence[Host]) -> int:
    """Bytes that may cache files, of all machines together, this one's with them where none of them is it."""
    return sum(_by_machine(hosts, "memory_bytes").values()) or client_memory()


def _by_machine(hosts: Sequence[Host], what: str) -> Mapping[str, int]:
    return {host.boot: int(host.sight.host[what]) for host in hosts}


def described(hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """For the disclosure."""
    return [{**host.sight.host, "name": host.name, "storage": host.sight.storage} for host in hosts]
