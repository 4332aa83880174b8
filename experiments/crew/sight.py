"""Checks that a member of the crew has the same storage: each side reads what the other one wrote."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from core.crew import Hello, Sight
from core.errors import StorageFault, UsageError, system_errors
from experiments.result.compare import mount_options
from monitoring.machine import place
from worker.phases.task import same_root

Place = dict[str, Any]  # as the disclosure has it
_TOKEN = ".edbench-crew-"
_MISSING = os.strerror(errno.ENOENT)


def sign_of(token: Path, member: str) -> Path:
    """Return the file that the member with that id leaves (`core.crew.Look`)."""
    return token.with_name(f"{token.name}.{member}")


@contextmanager
def token_in(storage: Path) -> Iterator[tuple[Path, str]]:
    """Create a file there and yield it with its content; remove it and every sign at the end. Raises StorageFault."""
    file, text = storage / f"{_TOKEN}{secrets.token_hex(8)}", secrets.token_hex(16)
    with system_errors(StorageFault, f"{storage} cannot be written to"):
        file.write_text(text, encoding="ascii")
    try:
        yield file, text
    finally:
        for left in (file, *storage.glob(f"{file.name}.*")):
            with suppress(OSError):
                left.unlink()


def refuse_other_storage(
    member: Hello, sight: Sight, storage: Path, token: Path, text: str, source: Path | None
) -> None:
    """Raise UsageError unless the member sees what this process does, and the reverse. `source`: None if it is below
    none of the members' roots, as with a crew on this host alone."""
    who, here = f"member {member.name}", place(storage)
    there = member.roots.get("storage", str(storage))
    why = sight.unseen.get("token")
    if why == _MISSING or (why is None and sight.token != text):
        raise UsageError(
            f"{who} has a different storage at {there}: {mounted(member.storage)} there, {mounted(here)} here"
        )
    if why is not None:
        raise UsageError(
            f"{who} cannot read files that this host writes to the storage {storage} ({why}): grant it read access"
        )
    if "sign" in sight.unseen:
        raise UsageError(f"{who} cannot write to the storage {there} ({sight.unseen['sign']}): grant it write access")
    lost = _unsigned(token, member.id, text)
    if lost == _MISSING:
        raise UsageError(
            f"files that {who} writes to the storage {there} do not appear on this host; mount the same storage on "
            f"both: {mounted(member.storage)}"
        )
    if lost is not None:
        raise UsageError(
            f"this host cannot read files that {who} writes to the storage {storage} ({lost}): grant this user read access"
        )
    if source is None:
        return
    root = os.stat(source)
    if "source" in sight.unseen or not same_root(sight.source, (root.st_dev, root.st_ino)):
        why = sight.unseen.get("source", "it is another directory there")
        raise UsageError(f"{who} cannot see the source {source} ({why}): mount it at the same path on that host")


def mounted(storage: Place) -> str:
    """Return a place of the disclosure as `nfs4 of filer:/x`."""
    mount = storage.get("mount")
    return f"{mount['type']} of {mount['source']}" if isinstance(mount, dict) else str(storage.get("label", "unknown"))


def refuse_other_mount(path: Path, first: tuple[str, Place], second: tuple[str, Place]) -> None:
    """Raise UsageError if two hosts, given with their names, mount the same storage differently: that is another
    client, and `compare` would refuse to compare the two."""
    (one, ours), (two, theirs) = first, second
    if mounted(ours) != mounted(theirs):
        raise UsageError(
            f"members {one} and {two} mount {path} in different ways: {mounted(ours)} and {mounted(theirs)}"
        )
    only, other = _options(ours, theirs), _options(theirs, ours)
    if only or other:
        raise UsageError(
            f"members {one} and {two} mount {path} with different options: {only or 'nothing more'} on {one} and "
            f"{other or 'nothing more'} on {two}; use the same options"
        )


def _options(storage: Place, other: Place) -> str:
    """Return the options that only the first has, without those that say who mounts it."""
    ours, theirs = (mount_options({"storage": a}, {"storage": b}) for a, b in ((storage, other), (other, storage)))
    return ", ".join(option for option in ours if option not in theirs)


def _unsigned(token: Path, member: str, text: str) -> str | None:
    """Return why the sign cannot be read here; None if it can. A directory's entries may be cached for a moment:
    opening the file by its name asks the filer."""
    try:
        there = sign_of(token, member).read_bytes()
    except OSError as error:
        return os.strerror(error.errno or 0)
    return None if there == text.encode() else _MISSING
