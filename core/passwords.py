"""The password bank of a job: passwords that a person collected, one a line, to be tried on encrypted items.

The passwords themselves are in the person's file and in one file in the job's folder, which only its owner may read.
Everything else (options, results, reports, pages) has the number of passwords and the bank's digest."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from core.errors import UsageError, reading_errors
from core.options import MOST_PASSWORDS
from core.places import job_location
from core.records import BankNote

MOST_BYTES = 512  # of one password in UTF-8; no format takes longer ones
_MOST_FILE = 8_000_000
_BOM = "\ufeff"
_SALT = b"edbench password bank"


class PasswordBank(Struct, frozen=True):
    """Passwords by their line, the first being line 1; empty lines are kept, so that numbers are the file's."""

    lines: tuple[str, ...]

    def __repr__(self) -> str:
        """Never contains the passwords, because it may be logged."""
        return f"PasswordBank({len(self.passwords)} passwords)"

    @property
    def passwords(self) -> dict[str, int]:
        """Each password once, with the number of its first line."""
        passwords: dict[str, int] = {}
        for number, line in enumerate(self.lines, start=1):
            if line:
                passwords.setdefault(line, number)
        return passwords

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return "".join(line + "\n" for line in self.lines).encode("utf-8")

    @property
    def note(self) -> BankNote:
        """The public facts about the bank. The digest is slow to compute, so that few short passwords cannot be guessed
        from it."""
        slow = hashlib.scrypt(self.to_bytes(), salt=_SALT, n=1 << 14, r=8, p=1, dklen=16)
        return BankNote(count=len(self.passwords), digest=slow.hex())

    def extended(self, more: PasswordBank) -> PasswordBank:
        """The bank with the other's new passwords appended; its own keep their numbers."""
        known = self.passwords
        return check_bank(PasswordBank(self.lines + tuple(p for p in more.passwords if p not in known)), "both banks")


def parse_bank(data: bytes, what: str) -> PasswordBank:
    """Parse a bank. Raises UsageError, which names `what` and no password, if the bytes are none."""
    try:
        text = data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UsageError(f"{what}: line {line} is not UTF-8; save the file as UTF-8") from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return check_bank(PasswordBank(tuple(lines)), what)


def check_bank(bank: PasswordBank, what: str) -> PasswordBank:
    """Return the bank. Raises UsageError if it exceeds a limit."""
    if not bank.passwords:
        raise UsageError(f"{what}: it contains no password; write one password a line")
    if len(bank.passwords) > MOST_PASSWORDS:
        raise UsageError(f"{what}: {len(bank.passwords)} passwords; the most is {MOST_PASSWORDS}")
    for password, number in bank.passwords.items():
        if "\0" in password or len(password.encode("utf-8")) > MOST_BYTES:
            raise UsageError(f"{what}: line {number} has a NUL or is longer than {MOST_BYTES} bytes; give a text file")
    return bank


def bank_of(passwords: Iterable[str], what: str) -> PasswordBank:
    """The bank of passwords that came one by one. Raises UsageError as `parse_bank`."""
    given = tuple(passwords)
    if any("\n" in password for password in given):
        raise UsageError(f"{what}: a password contains a line break")
    return check_bank(PasswordBank(given), what)


def read_bank(file: Path) -> PasswordBank:
    """Read the bank in a person's file. Raises UsageError if it cannot be read or is none."""
    with reading_errors(f"--passwords {file}", "; give a text file, one password a line"), file.open("rb") as opened:
        data = opened.read(_MOST_FILE + 1)
    if len(data) > _MOST_FILE:
        raise UsageError(f"--passwords {file}: more than {_MOST_FILE:,} bytes; give a text file, one password a line")
    return parse_bank(data, f"--passwords {file}")


def bank_location(job: uuid.UUID, note: BankNote) -> bytes:
    """The bank's file in the job's folder, relative to the storage root. Another bank has another name."""
    return job_location(job) + b"/passwords-" + note.digest.encode()
