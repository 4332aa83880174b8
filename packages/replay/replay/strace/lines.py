"""Lines of an strace log, assembled into whole system calls.

As strace 4.x to 6.x write them with -ttt and -T: `1234 1700000000.123456 read(3, "…", 4096) = 12 <0.000017>`, with the
process in front (with -f; `[pid 1234]` on a terminal), calls that another process's line interrupts in two halves
(`<unfinished ...>`, `<... read resumed>`), and lines about ends (`+++`) and signals (`---`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

_LINE = re.compile(r"(?:\[pid +(\d{1,9})\] +|(\d{1,9}) +)?(\d{9,11})\.(\d{6,9}) (.*)")
_CALL = re.compile(r"(\w+)\((.*)\) += (.*?)(?: <(\d{1,9})\.(\d{6,9})>)?$")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed> ?(.*)")
_UNFINISHED = " <unfinished ...>"
_REMARK = "strace: "
_ATTACHED = re.compile(r"strace: (?:Process \d+ attached|Process \d+ detached|.*resuming)$")
EXIT = "+++"


class Event(NamedTuple):
    """A system call that returned, or the end of a process (`name` is EXIT)."""

    start_ns: int  # since the epoch
    pid: int
    name: str
    arguments: str
    result: str  # text after the equals sign
    duration_ns: int


_NOTHING = Event(0, 0, "", "", "", 0)


@dataclass(slots=True)
class Halves:
    """Calls that have begun and not ended, and unreadable lines."""

    open: dict[int, tuple[int, str]] = field(default_factory=dict)  # process → start of the call, its text so far
    malformed: int = 0
    first_malformed: str = ""  # its position and beginning
    untimed: int = 0  # calls without a duration
    calls: int = 0
    never_ended: int = 0

    def reject(self, place: str, text: str) -> None:
        """Count a malformed line."""
        self.malformed += 1
        if not self.first_malformed:
            self.first_malformed = f"{place}: {text.strip()[:60]}"


class Log:
    """One log; iterate over it for its calls, in the order they ended."""

    def __init__(self, lines: Iterable[bytes], name: str, halves: Halves) -> None:
        """Read `lines`; `halves` is filled while the log is read."""
        self._lines = lines
        self._name = name
        self._halves = halves
        self._whose = _Whose()

    def __iter__(self) -> Iterator[Event]:
        begun = ""  # a line interrupted by a remark of strace (on a terminal): it continues in the next one
        for number, raw in enumerate(self._lines, 1):
            text = begun + raw.decode("latin-1").rstrip("\r\n")
            begun, remark, _ = text.partition(_REMARK) if _ATTACHED.search(text) else ("", "", "")
            if remark or not text.strip():
                continue
            match = _LINE.match(text)
            event = None if match is None else self._read(match)
            if event is None:
                self._halves.reject(f"{self._name}, line {number}", text)
            elif event.name:
                yield event

    def _read(self, match: re.Match[str]) -> Event | None:
        """Return the call that the line completes, with an empty name if none; None if it is not of strace."""
        label = match[1] or match[2]
        pid = self._whose.of(int(label) if label else None)
        at = int(match[3]) * 1_000_000_000 + int(match[4].ljust(9, "0"))
        rest = match[5]
        if rest.startswith("---"):
            return _NOTHING
        if rest.startswith(EXIT):
            self._halves.never_ended += self._halves.open.pop(pid, None) is not None
            self._whose.ended(pid)
            return Event(at, pid, EXIT, "", rest, 0)
        if rest.endswith(_UNFINISHED):
            self._halves.never_ended += pid in self._halves.open
            self._halves.open[pid] = (at, rest[: -len(_UNFINISHED)])
            return _NOTHING
        if rest.startswith("<"):
            return self._resume(pid, rest)
        return self._event(pid, at, rest)

    def _resume(self, pid: int, rest: str) -> Event | None:
        """Return a call with its second half; None if its first half is not in the log."""
        resumed = _RESUMED.match(rest)
        if resumed is None:
            return None
        opens = f"{resumed[1]}("
        if pid not in self._halves.open:
            pid = self._whose.found_out(pid, self._halves.open, opens)
        start, text = self._halves.open.pop(pid, (0, ""))
        return self._event(pid, start, text + resumed[2]) if text.startswith(opens) else None

    def _event(self, pid: int, start: int, text: str) -> Event | None:
        match = _CALL.match(text)
        if match is None:
            return None
        name, arguments, result, seconds, fraction = match.groups()
        duration = 0
        if seconds is None:
            self._halves.untimed += not result.startswith("?")
        else:
            duration = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
        self._halves.calls += 1
        return Event(start, pid, name, arguments, result, duration)


class _Whose:
    """The process of each line. A log made with -o names the process in each line; on a terminal strace omits it while
    there is only one, so the number of the first process is learned when another one has been started."""

    def __init__(self) -> None:
        self._first = 0
        self._same: dict[int, int] = {}
        self._running = {self._first}

    def of(self, label: int | None) -> int:
        """Return the process of a line with this label, or with none."""
        if label is None:
            return next(iter(self._running)) if len(self._running) == 1 else self._first
        pid = self._same.get(label, label)
        self._running.add(pid)
        return pid

    def ended(self, pid: int) -> None:
        """Record that the process writes no more lines."""
        self._running.discard(pid)

    def found_out(self, label: int, halves: dict[int, tuple[int, str]], opens: str) -> int:
        """Return the process that continues a call it did not begin: the first process, if that began such a call."""
        if not halves.get(self._first, (0, ""))[1].startswith(opens):
            return label
        self._running.discard(label)
        self._same[label] = self._first
        return self._first
