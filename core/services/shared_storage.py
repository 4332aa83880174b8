"""`python -m core.services.shared_storage`: checks the storage under test before a system in containers starts.

It runs as the user that controller and workers run as, on the mount that they have. The file TOKEN on the storage
distinguishes it from another storage that is mounted at the same path; controller and workers compare it, with the type
and the source of the mount (`Identity`)."""

from __future__ import annotations

import os
import re
import secrets
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.errors import EdbenchError, StorageFault, UsageError
from core.mounts import MountEntry, Reach, holding, reach_of, read_mountinfo

TOKEN = ".edbench-storage"
_ADVICE = "mount the filer at the same path on every host, and restart the system"
_NEGOTIATED = ("rsize", "wsize", "timeo", "retrans")  # the server may lower them
_OPPOSITE = {"hard": "soft", "soft": "hard", "ro": "rw", "rw": "ro", "lock": "nolock", "nolock": "lock"}


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a storage."""

    kind: str  # file system type
    source: str  # of the mount: device, server and export
    token: str

    def differs(self, other: Identity) -> str | None:
        """The difference between `other` and this storage, as "it has …, not …"; None if they are the same.

        Network storage may be mounted from several addresses of one server, so of its source only the part after the
        server is compared."""
        for what, ours, theirs in (
            ("type", self.kind, other.kind),
            ("source", _export(self.kind, self.source), _export(other.kind, other.source)),
            (f"content of {TOKEN}", self.token, other.token),
        ):
            if ours != theirs:
                return f"{what} {theirs}, not {ours}"
        return None


def _export(kind: str, source: str) -> str:
    if reach_of(kind, source)[0] is not Reach.NETWORK:
        return source
    return source.rpartition(":")[2] if ":" in source else source.lstrip("/").partition("/")[2] or source


def identify(root: Path, *, mark: bool) -> Identity:
    """The identity of the storage at `root`; `mark`: write its token if there is none. Raises StorageFault."""
    entry = holding(os.path.realpath(root), read_mountinfo())
    if entry is None:
        raise StorageFault(f"the mount table has no entry for {root}")
    file = root / TOKEN
    try:
        if mark and not file.exists():
            _write_token(file)
        token = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise StorageFault(
            f"{file} cannot be read ({getattr(error, 'strerror', None) or error}): this is not the storage that the system was started"
            f" on; {_ADVICE}"
        ) from error
    return Identity(kind=entry.kind, source=entry.source, token=token)


def _write_token(file: Path) -> None:
    """Write a complete token; if several processes try, one of them succeeds."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=TOKEN, delete=False) as new:
        new.write(f"{secrets.token_hex(16)}\n")
    try:
        os.chmod(new.name, 0o444)
        os.link(new.name, file)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not file.exists():
            os.rename(new.name, file)
        return
    finally:
        Path(new.name).unlink(missing_ok=True)


def check(root: Path, env: Mapping[str, str]) -> str:
    """Check that the storage at `root` is writable and mounted as EDBENCH_SHARED, _TYPE and _OPTIONS say; return a line
    about it.

    Raises StorageFault with the command that the user has to run."""
    shared = env.get("EDBENCH_SHARED", "")
    entry = holding(os.path.realpath(root), read_mountinfo())
    wanted = env.get("EDBENCH_SHARED_TYPE") or "none"
    if (
        shared
        and wanted != "none"
        and (wrong := mismatch(entry, shared, wanted, env.get("EDBENCH_SHARED_OPTIONS", "")))
    ):
        volume = f"{env.get('COMPOSE_PROJECT_NAME') or 'edbench'}_shared"
        raise StorageFault(
            f"the volume {volume} differs from EDBENCH_SHARED: {wrong}; the engine keeps the options that it was created"
            f" with: docker compose down && docker volume rm {volume} (this deletes nothing on the filer), then start again"
        )
    uid, gid = os.getuid(), os.getgid()
    try:
        with tempfile.NamedTemporaryFile(dir=root, prefix=TOKEN):
            pass
    except OSError as error:
        owner = _owner(root)
        raise StorageFault(
            f"user {uid}:{gid} cannot write to {shared or root} ({error.strerror}); type on the host:"
            f" chown {uid}:{gid} {shared or root}{owner}"
        ) from error
    identity = identify(root, mark=True)
    return f"{shared or root}: {reach_of(identity.kind, identity.source)[0]} ({identity.kind}) from {identity.source}"


def _owner(root: Path) -> str:
    try:
        found = root.stat()
    except OSError:
        return ""
    return f" (or set EDBENCH_UID={found.st_uid} EDBENCH_GID={found.st_gid}, its owner)" if found.st_uid else ""


def mismatch(entry: MountEntry | None, source: str, kind: str, options: str) -> str | None:
    """The difference between a mount and the requested type, source and options (nfs(5)); None if there is none."""
    if entry is None:
        return "nothing is mounted there"
    if entry.kind.rstrip("4") != kind.rstrip("4"):
        return f"it is of type {entry.kind}, not {kind}"
    if entry.source != source and not (source.startswith(":") and entry.source.endswith(source)):
        return f"it is {entry.source}, not {source}"
    given = {key: value for key, _, value in (one.partition("=") for one in entry.options)}
    for one in filter(None, options.split(",")):
        key, equals, value = one.partition("=")
        key = "vers" if key == "nfsvers" else key
        if _OPPOSITE.get(key) in given and key not in given:
            return f"it is mounted {_OPPOSITE[key]}, not {key}"
        if not equals or key in _NEGOTIATED or key not in given:
            continue
        if key == "addr" and not re.fullmatch(r"[0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*", value):
            continue  # the engine resolves a name; the mount table shows the address
        if given[key] != value and not (key == "vers" and given[key].startswith(f"{value}.")):
            return f"it is mounted with {key}={given[key]}, not {key}={value}"
    return None


def main(env: Mapping[str, str]) -> int:
    """Run the check; return 0 if the storage can be used, 1 with one line if not."""
    try:
        if not env.get("EDBENCH_STORAGE"):
            raise UsageError("EDBENCH_STORAGE is not set")
        sys.stdout.write(f"storage: {check(Path(env['EDBENCH_STORAGE']), env)}\n")
    except EdbenchError as error:
        sys.stderr.write(f"storage: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
