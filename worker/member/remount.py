"""Mount options as an axis of experiments: commands that mount the storage again, configured on the member alone.

`EDBENCH_REMOUNT` names a TOML file of this host:

restore = ["/usr/local/sbin/mount-filer", "default"]
    [mounts]
    "nconnect=4" = ["/usr/local/sbin/mount-filer", "nconnect=4"]

An order names one of the mounts. It carries no command and no option, and a sender of orders can select only what the
host's operator has written down."""

from __future__ import annotations

import os
import stat
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import SystemFault, UsageError, read_problem

VARIABLE = "EDBENCH_REMOUNT"
_SECONDS = 120.0
_MOST_BYTES = 100_000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Remounts:
    """Mount commands of a host. Their file is read at each use."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._file = env.get(VARIABLE, "")

    def mount(self, name: str) -> None:
        """Run the command of this name. Raises UsageError where the host has none, SystemFault where it fails."""
        mounts = self._read()[0]
        if name not in mounts:
            known = ", ".join(sorted(mounts)) or "none"
            raise UsageError(f"this host has no mount {name}; {VARIABLE} lists: {known}")
        _run(mounts[name])

    def restore(self) -> None:
        """Mount the storage as usual again. Raises UsageError, SystemFault."""
        if restore := self._read()[1]:
            _run(restore)

    def _read(self) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
        """Return the commands by name, and the one that restores. Raises UsageError for a file that others may
        change."""
        if not self._file:
            raise UsageError(f"this host cannot remount its storage: {VARIABLE} is not set (docs/experiments.md)")
        path = Path(self._file)
        try:
            with path.open("rb") as file:
                there = os.fstat(file.fileno())
                text = file.read(_MOST_BYTES).decode("utf-8")
            data = tomllib.loads(text)
        except (OSError, ValueError) as error:
            raise UsageError(f"{VARIABLE}: {read_problem(str(path), error)}") from error
        if there.st_uid not in (0, os.geteuid()) or there.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UsageError(f"{VARIABLE}: {path} must belong to root or to this user, and only its owner may write it")
        mounts, restore = data.pop("mounts", {}), data.pop("restore", [])
        if data or not isinstance(mounts, dict):
            raise UsageError(f"{VARIABLE}: {path} must have `restore` and a table `mounts`")
        for command in (*mounts.values(), *([restore] if restore else [])):
            strings = isinstance(command, list) and all(isinstance(word, str) and word for word in command)
            if not strings or not command or not command[0].startswith("/"):
                raise UsageError(
                    f"{VARIABLE}: {path}: a command must be a list of words that starts with an absolute path"
                )
        return mounts, restore


def _run(command: Sequence[str]) -> None:
    """Run a command without a shell, and without this process's environment, which has logins."""
    try:
        done = subprocess.run(
            command, env={"PATH": _PATH, "LC_ALL": "C"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemFault(f"the storage was not remounted: {error}") from error
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace").split()
        raise SystemFault(
            f"the storage was not remounted: {command[0]} ended with {done.returncode}: {' '.join(output)[:300]}"
        )
