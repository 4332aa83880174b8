"""Whether a host has the same storage at the same path: both sides read what the other one wrote there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from core.errors import StorageFault, UsageError
from experiments.conditions import host, place
from experiments.hosts.messages import Hello, Look, Sight
from experiments.result.grounds import mount_options
from worker.phases.task import same_root

Place = dict[str, Any]  # as the disclosure has it
_TOKEN = ".edbench-hosts-"
_MISSING = os.strerror(errno.ENOENT)


def look_at(look: Look, name: str) -> Sight:
    """On the host: what is there, and a sign beside the token. Raises nothing for what is not there."""
    unseen: dict[str, str] = {}
    storage, token, source = {}, "", (0, 0)
    try:
        storage = place(Path(look.storage))
    except OSError as error:
        unseen["storage"] = os.strerror(error.errno or 0)
        return Sight(host=host(), unseen=unseen)
    try:
        token = Path(look.token).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        unseen["token"] = os.strerror(error.errno or 0)
        return Sight(host=host(), storage=storage, unseen=unseen)
    try:
        sign_of(look.token, name).write_text(token, encoding="ascii", errors="replace")
    except OSError as error:
        unseen["sign"] = os.strerror(error.errno or 0)
    try:
        root = os.stat(look.source)
        source = (root.st_dev, root.st_ino)
    except OSError as error:
        unseen["source"] = os.strerror(error.errno or 0)
    return Sight(host=host(), storage=storage, token=token, source=source, unseen=unseen)


def sign_of(token: str, name: str) -> Path:
    """The file that a host of that name leaves; the name is one that a file can have."""
    return Path(f"{token}.{name}")


@contextmanager
def token_in(storage: Path) -> Iterator[tuple[Path, str]]:
    """A file there and what it holds, for as long as the block lasts; then it goes, with every sign. Raises StorageFault."""
    file, text = storage / f"{_TOKEN}{secrets.token_hex(8)}", secrets.token_hex(16)
    try:
        file.write_text(text, encoding="ascii")
    except OSError as error:
        raise StorageFault(f"{storage} cannot be written to: {error.strerror}", errno=error.errno or 0) from error
    try:
        yield file, text
    finally:
        for left in (file, *storage.glob(f"{file.name}.*")):
            with suppress(OSError):
                left.unlink()


def refuse_other_storage(hello: Hello, sight: Sight, look: Look, text: str) -> None:
    """On the command's host: raises UsageError in one line unless the host sees what this one does, and the reverse."""
    who, here = f"host {hello.name}", place(Path(look.storage))
    if "storage" in sight.unseen:
        raise UsageError(
            f"{who} cannot see the storage {look.storage} ({sight.unseen['storage']}): mount it there at the same path"
        )
    why = sight.unseen.get("token", _MISSING)
    if why != _MISSING:
        raise UsageError(
            f"{who} cannot read files that this host writes to the storage {look.storage} ({why}): grant it read access"
        )
    if sight.token != text:
        raise UsageError(
            f"{who} has another storage at {look.storage} than this one: {mounted(sight.storage)} there,"
            f" {mounted(here)} here"
        )
    if "sign" in sight.unseen:
        raise UsageError(
            f"{who} cannot write to the storage {look.storage} ({sight.unseen['sign']}): grant it write access"
        )
    lost = _unsigned(look, hello.name, text)
    if lost == _MISSING:
        raise UsageError(
            f"files that {who} writes to the storage {look.storage} do not appear here; mount the same storage on both: {mounted(sight.storage)}"
        )
    if lost is not None:
        raise UsageError(
            f"this host cannot read files that {who} writes to the storage {look.storage} ({lost}): grant this user read access"
        )
    root = os.stat(look.source)
    if "source" in sight.unseen or not same_root(sight.source, (root.st_dev, root.st_ino)):
        why = sight.unseen.get("source", "it is another directory there")
        raise UsageError(f"{who} cannot see the source {look.source} ({why}): mount it there at the same path")


def mounted(storage: Place) -> str:
    """`nfs4 of filer:/x`, of a place as the disclosure has it."""
    mount = storage.get("mount")
    return f"{mount['type']} of {mount['source']}" if isinstance(mount, dict) else str(storage.get("label", "unknown"))


def refuse_other_mount(path: Path, first: tuple[str, Place], second: tuple[str, Place]) -> None:
    """Raises UsageError where two hosts, by name, mount the same storage in different ways: that is another client, and
    `compare` would refuse to hold one against the other."""
    (one, ours), (two, theirs) = first, second
    if mounted(ours) != mounted(theirs):
        raise UsageError(f"hosts {one} and {two} mount {path} in different ways: {mounted(ours)} and {mounted(theirs)}")
    only, other = _options(ours, theirs), _options(theirs, ours)
    if only or other:
        raise UsageError(
            f"hosts {one} and {two} mount {path} with different options: {only or 'nothing more'} on {one} and"
            f" {other or 'nothing more'} on {two}; mount it alike"
        )


def _options(storage: Place, other: Place) -> str:
    """That one has and the other has not, but for who mounts it."""
    ours, theirs = (mount_options({"storage": a}, {"storage": b}) for a, b in ((storage, other), (other, storage)))
    return ", ".join(option for option in ours if option not in theirs)


def _unsigned(look: Look, name: str, text: str) -> str | None:
    """Why the sign is not read here; None: it is. A directory's entries may be cached for a moment: opening the file by
    its name asks the filer."""
    try:
        there = sign_of(look.token, name).read_bytes()
    except OSError as error:
        return os.strerror(error.errno or 0)
    return None if there == text.encode() else _MISSING
