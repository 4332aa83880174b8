"""The token of the web UI: given, or generated and stored where only its owner can read it."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from core.errors import UsageError
from core.reading import read_problem

VARIABLE = "EDBENCH_TOKEN"
FILE_VARIABLE = "EDBENCH_TOKEN_FILE"
LEAST_CHARACTERS = 16
FILE = "page-token"  # below scratch
_MADE_BYTES = 24
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def given_token(env: Mapping[str, str]) -> str | None:
    """The token of EDBENCH_TOKEN, or the one in the file of EDBENCH_TOKEN_FILE; None if neither is set. Raises UsageError when it
    is too short or cannot be read."""
    token, name = env.get(VARIABLE, "").strip(), VARIABLE
    if not token and (file := env.get(FILE_VARIABLE)):
        token, name = read_secret(Path(file)), file
    if (name != VARIABLE and not token) or (token and len(token) < LEAST_CHARACTERS):
        raise UsageError(f"{name} has fewer than {LEAST_CHARACTERS} characters; set it to a longer random text")
    return token or None


def read_secret(path: Path) -> str:
    """The text of a file, without the space around it. Raises UsageError."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(path, error)) from error


def kept_token(scratch: Path) -> str:
    """The token in scratch, generated where there is none that only this user can read. Raises UsageError."""
    path = scratch / FILE
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        while (token := _read(path)) is None:
            _make(path)
    except OSError as error:
        raise UsageError(f"cannot write the token of the web UI to {path}: {error.strerror}; set {VARIABLE}") from error
    return token


def _read(path: Path) -> str | None:
    """The stored token, None if there is none. One that others could have read or written is removed."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError:  # such as a symbolic link
        path.unlink()
        return None
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        token = file.read(1_000).decode("ascii", "replace").strip() if stat.S_ISREG(info.st_mode) else ""
    if info.st_uid == os.geteuid() and not stat.S_IMODE(info.st_mode) & 0o077 and len(token) >= LEAST_CHARACTERS:
        return token
    path.unlink()
    return None


def _make(path: Path) -> None:
    """Write a token atomically; if another process was faster, its token stays."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    with open(os.open(draft, _WRITE, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(_MADE_BYTES) + "\n")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def ready_link(address: str, token: str) -> str:
    """The address with the token after a `#`: browsers do not send that part, and a script fills the form from it."""
    return f"{address}login#token={token}"
