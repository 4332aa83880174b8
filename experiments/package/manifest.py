"""`MANIFEST.sha256`: a hash of every file of a package, in the format of sha256sum(1), which can check it; and
signatures over it by ssh-keygen(1), whose keys people already have and can check."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from core.errors import RunFailed, UsageError, read_problem, system_errors
from core.storage.whole import strays

MANIFEST = "MANIFEST.sha256"
SIGNATURE = f"{MANIFEST}.sig"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def seal(directory: Path) -> Path:
    """Write the manifest over all files of the directory; a signature over the previous manifest is removed.

    Raises RunFailed."""
    path = directory / MANIFEST
    with system_errors(RunFailed, f"{path} cannot be written"):
        (directory / SIGNATURE).unlink(missing_ok=True)
        lines = [f"{_hash(directory / name)}  {name}\n" for name in files_of(directory)]
        path.write_text("".join(lines), encoding="utf-8")
    return path


def files_of(directory: Path) -> list[str]:
    """Return every file and link of a package except the manifest and its signature, sorted, with `/` between the
    parts."""
    files = []
    for parent, folders, names in os.walk(directory):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        files += [Path(parent, name).relative_to(directory).as_posix() for name in [*names, *links]]
    own = {name for name in (MANIFEST, SIGNATURE) if (directory / name).exists()}
    return sorted(strays(set(files), own) - own)


def broken(directory: Path) -> list[str]:
    """Return a line for each file that differs from the manifest. Raises UsageError if there is no manifest."""
    listed = _read(directory / MANIFEST)
    unlisted = sorted(strays(set(files_of(directory)), listed.keys()))
    return [*_changed(directory, listed), *(f"{name}: not in the manifest" for name in unlisted)]


def _changed(directory: Path, listed: Mapping[str, str]) -> Iterable[str]:
    for name, digest in listed.items():
        path = directory / name
        try:
            if not path.is_file() or path.is_symlink():
                yield f"{name}: in the manifest, but the file is missing"
                continue
            same = _hash(path) == digest
        except OSError as error:
            yield read_problem(name, error)
            continue
        if not same:
            yield f"{name}: changed since the manifest was written"


def _read(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent} is not a result package: it has no {MANIFEST}") from error
    except NotADirectoryError as error:
        raise UsageError(f"{path.parent} is a file; a result package is a directory: unpack it first") from error
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(path, error)) from error
    out = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in out or match[2].startswith("/") or ".." in match[2].split("/"):
            raise UsageError(f"{path}, line {number}: expected a hash and the name of a file in the package")
        out[match[2]] = match[1]
    return out


def _hash(path: Path) -> str:
    if path.is_symlink():  # what it leads to is not in the package
        raise RunFailed(f"{path} is a link; a package may contain only files")
    return file_hash(path)


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


NAMESPACE = "edbench-result"
_PROGRAM = "ssh-keygen"


def sign(directory: Path, key: Path) -> Path:
    """Sign the manifest with a private key, or with an agent's by its public one; return the signature's path. Raises
    UsageError."""
    signature = directory / SIGNATURE
    with system_errors(UsageError, f"{signature} cannot be replaced"):
        signature.unlink(missing_ok=True)
    done = _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(directory / MANIFEST)])
    if done.returncode or not signature.exists():
        raise UsageError(f"{directory} could not be signed with {key}: {_last(done)}")
    return signature


def examined(directory: Path, signers: Path | None) -> tuple[list[str], str | None]:
    """Return a line for each file that differs from the manifest or error of the signature; and who signed it, which is
    required if `signers` are given. Raises UsageError if there is no manifest."""
    differences = broken(directory)
    if not (directory / SIGNATURE).exists() and signers is None:
        return differences, None
    try:
        return differences, signed_by(directory, signers)
    except RunFailed as error:
        return [*differences, str(error)], None


def signed_by(directory: Path, signers: Path | None) -> str:
    """Return who signed it, as ssh-keygen prints it. Raises RunFailed if it is not signed, none of the signers signed
    it or something else was signed, UsageError if ssh-keygen is missing."""
    signature = directory / SIGNATURE
    if not signature.is_file():
        raise RunFailed(f"{SIGNATURE}: missing; the package is not signed")
    given = ["-n", NAMESPACE, "-s", str(signature)]
    if signers is None:
        done = _run(["-Y", "check-novalidate", *given], directory / MANIFEST)
    else:
        names = _run(["-Y", "find-principals", "-s", str(signature), "-f", str(signers)])
        if names.returncode:
            raise RunFailed(f"{SIGNATURE}: signed by none of {signers}: {_last(names)}")
        who = names.stdout.splitlines()[0]  # may contain blanks
        done = _run(["-Y", "verify", "-f", str(signers), "-I", who, *given], directory / MANIFEST)
    if done.returncode:
        raise RunFailed(f"{SIGNATURE}: not a signature of this manifest: {_last(done)}")
    return done.stdout.strip().splitlines()[-1]


def _run(arguments: list[str], data: Path | None = None) -> subprocess.CompletedProcess[str]:
    text = data.read_bytes().decode() if data is not None else None  # with its line ends: they are signed too
    try:
        return subprocess.run(
            [_PROGRAM, *arguments],
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError(f"signatures need {_PROGRAM} of OpenSSH 8.1 or later") from error


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"])[-1]
