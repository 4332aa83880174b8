"""Signatures over a package's manifest by ssh-keygen(1): keys that people have, and what they know to check them with."""

from __future__ import annotations

import subprocess
from pathlib import Path

from core.errors import RunFailed, UsageError
from experiments.package.manifest import MANIFEST, SIGNATURE

NAMESPACE = "edbench-result"
_PROGRAM = "ssh-keygen"


def sign(directory: Path, key: Path) -> Path:
    """Sign the manifest with a private key, or with an agent's by its public one; the signature's path. Raises UsageError."""
    signature = directory / SIGNATURE
    try:
        signature.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{signature} cannot be replaced: {error.strerror}") from error
    done = _run(["-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(directory / MANIFEST)])
    if done.returncode or not signature.exists():
        raise UsageError(f"{directory} could not be signed with {key}: {_last(done)}")
    return signature


def signed_by(directory: Path, signers: Path | None) -> str:
    """Who signed it, as ssh-keygen prints it. Raises RunFailed when it is not signed, when none of the signers signed
    it or when something else was signed, UsageError when there is no ssh-keygen."""
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
        who = names.stdout.split()[0]
        done = _run(["-Y", "verify", "-f", str(signers), "-I", who, *given], directory / MANIFEST)
    if done.returncode:
        raise RunFailed(f"{SIGNATURE}: not a signature of this manifest: {_last(done)}")
    return done.stdout.strip().splitlines()[-1]


def _run(arguments: list[str], data: Path | None = None) -> subprocess.CompletedProcess[str]:
    text = data.read_text(encoding="utf-8") if data is not None else None
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
