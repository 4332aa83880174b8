"""A big mail store, for the memory of a slot and the balance of ranges."""

from __future__ import annotations

import random
from pathlib import Path

_WORDS = [
    "budget",
    "meeting",
    "contract",
    "review",
    "schedule",
    "invoice",
    "delivery",
    "project",
    "estimate",
    "forecast",
    "client",
    "answer",
]


def write_mbox(path: Path, size: int, seed: int = 5) -> int:
    """An mbox of about `size` bytes with attachments of up to a few hundred kilobytes; the number of messages."""
    chance = random.Random(seed)
    blobs = [chance.randbytes(n) for n in (2_000, 20_000, 120_000)]
    count = 0
    with path.open("wb") as out:
        while out.tell() < size:
            out.write(_message(chance, count, blobs))
            count += 1
    return count


def _message(chance: random.Random, number: int, blobs: list[bytes]) -> bytes:
    text = " ".join(chance.choices(_WORDS, k=200))
    blob = chance.choice(blobs).hex()
    lines = "\n".join(blob[i : i + 76] for i in range(0, len(blob), 76))
    return (
        f"From sender@example.com Thu Jan  1 00:00:{number % 60:02d} 2015\n"
        f"From: sender@example.com\nTo: receiver@example.com\nSubject: message {number}\n"
        f"Message-ID: <{number}@example.com>\nDate: Thu, 1 Jan 2015 00:00:00 +0000\nMIME-Version: 1.0\n"
        f'Content-Type: multipart/mixed; boundary="b{number}"\n\n--b{number}\nContent-Type: text/plain\n\n{text}\n'
        f"--b{number}\nContent-Type: application/octet-stream\n"
        f'Content-Disposition: attachment; filename="data {number}.txt"\n\n{lines}\n--b{number}--\n\n'
    ).encode()
