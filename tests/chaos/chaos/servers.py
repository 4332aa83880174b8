"""The servers of a network file system, which a campaign kills and brings back by commands that it was given."""

from __future__ import annotations

import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from core.errors import SystemFault

_COMMAND_SECONDS = 60.0
_BACK_SECONDS = 120.0  # until the mount works again: clients ask for their servers every few seconds
_PROBES = 16  # files with names of their own, so that each of several servers has one
_POLL_SECONDS = 0.1


@dataclass(slots=True, kw_only=True)
class Servers:
    """What a person types to kill and to start them, and a directory on their mount."""

    mount: Path
    killing: str
    starting: str
    away: bool = False

    @property
    def options(self) -> str:
        """As they are typed after `python tests/chaos`."""
        typed = (("storage", str(self.mount)), ("kill-servers", self.killing), ("start-servers", self.starting))
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in typed)

    def kill(self) -> None:
        """Raises SystemFault."""
        _do(self.killing)
        self.away = True

    def start(self) -> None:
        """Until the mount can be written to and read from as before. Raises SystemFault."""
        _do(self.starting)
        self.away = False
        deadline = time.monotonic() + _BACK_SECONDS
        while why := self._fails():
            if time.monotonic() > deadline:
                raise SystemFault(f"{self.mount} does not come back: {why}")
            time.sleep(_POLL_SECONDS)

    def _fails(self) -> str:
        """Why it does not work; empty: it does."""
        for number in range(_PROBES):
            probe = self.mount / f".edbench-probe-{number}"
            try:
                probe.write_text(probe.name)
                probe.read_text()
                probe.unlink()
            except OSError as error:
                return str(error)
        return ""


def _do(command: str) -> None:
    """A daemon that it starts may keep its output, so that is nobody's to wait for."""
    try:
        done = subprocess.run(
            command,
            shell=True,  # what the person who started the campaign typed
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SystemFault(f"`{command}` does not come to its end in {_COMMAND_SECONDS:.0f} s") from error
    if done.returncode:
        raise SystemFault(f"`{command}` ended with {done.returncode}")
