"""Formats that are rare in collections: found by their bytes, read by `edbench inspect` and in the sandbox."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from djvu_file import djvu
from hwp_file import hwp
from one_file import TEXT, section

from core.records import Limits
from core.settings import Settings
from readers.base import MemorySource
from worker.sandbox.fork_server import ForkServerAddress, order_sandbox, start_fork_server
from worker.sandbox.sandbox import sandboxed

_TABLE = struct.pack("<4BIHH17xBxx", 3, 120, 2, 3, 1, 65, 4, 0) + struct.pack("<11sc4xH14x", b"A", b"C", 3)
FILES = {
    "minutes.one": section((1, {TEXT: "words".encode("utf-16-le")})),
    "towns.dbf": _TABLE + b"\r one\x1a",
    "letter.hwp": hwp("words"),
    "scan.djvu": djvu("words"),
}


def _inspected(place: Path) -> dict[str, tuple[str, str, str | None]]:
    """What `edbench inspect` says of the files: type, text state, text. In a process of its own, which has no handlers yet."""
    for name, data in FILES.items():
        (place / name).write_bytes(data)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("EDBENCH_")}
    command = [sys.executable, "-m", "cli", "inspect", str(place), "-o", "jsonl"]
    shown = subprocess.run(command, env=kept, cwd=place, capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in shown.splitlines()]
    return {line["name"]: (line["media_type"], line["text_state"], line["text"]) for line in lines}


def test_they_are_read(tmp_path: Path) -> None:
    assert _inspected(tmp_path) == {
        "minutes.one": ("application/onenote", "ok", "words\n"),
        "towns.dbf": ("application/x-dbf", "ok", "A\none\n"),
        "letter.hwp": ("application/x-hwp", "ok", "words"),
        "scan.djvu": ("image/vnd.djvu", "ok", "words\n"),
    }


def _text_by_a_sandbox(address: ForkServerAddress, media_type: str, name: str) -> str:
    sandbox = order_sandbox(address)
    (handler,) = (one for one in sandbox.introduced() if media_type in one.media_types)
    return sandboxed(handler, sandbox).text(MemorySource(name.encode(), FILES[name]), Limits()).text


@pytest.mark.parametrize(
    ("media_type", "name"),
    [("application/onenote", "minutes.one"), ("application/x-hwp", "letter.hwp"), ("image/vnd.djvu", "scan.djvu")],
)
def test_sandboxes_read_them(media_type: str, name: str) -> None:
    address = start_fork_server(1024, Settings().plugins, os.environ)
    try:
        assert _text_by_a_sandbox(address, media_type, name).strip() == "words"
    finally:
        address.close()
        os.waitpid(address.pid, 0)
