"""plugins/edbench_extra_formats: what is read with it, and what is told of the same files without it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from djvu_file import djvu
from hwp_file import hwp
from one_file import TEXT, section

import edbench_extra_formats
from core.records import Limits
from core.settings import PLUGINS, Settings
from formats import registry
from formats.base import MemorySource
from worker.box.boxed import boxed
from worker.box.start import NurseryAddress, order_box, start_nursery

ROOT = Path(__file__).parents[3]
_TABLE = struct.pack("<4BIHH17xBxx", 3, 120, 2, 3, 1, 65, 4, 0) + struct.pack("<11sc4xH14x", b"A", b"C", 3)
FILES = {
    "minutes.one": section((1, {TEXT: "words".encode("utf-16-le")})),
    "towns.dbf": _TABLE + b"\r one\x1a",
    "letter.hwp": hwp("words"),
    "scan.djvu": djvu("words"),
}


def _inspected(place: Path, **env: str) -> dict[str, tuple[str, str, str | None]]:
    """What `edbench inspect` says of the files: type, text state, text. In a process of its own, which has no handlers yet."""
    for name, data in FILES.items():
        (place / name).write_bytes(data)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("EDBENCH_")}
    command = [sys.executable, "-m", "cli", "inspect", str(place), "-o", "jsonl"]
    said = subprocess.run(command, env=kept | env, cwd=place, capture_output=True, text=True, check=True).stdout
    lines = [json.loads(line) for line in said.splitlines()]
    return {line["name"]: (line["media_type"], line["text_state"], line["text"]) for line in lines}


def test_it_is_read_unless_settings_say_otherwise(tmp_path: Path) -> None:
    """No variable has to be set. A collection with OneNote sections hides what is embedded in them where none are read."""
    assert _inspected(tmp_path) == {
        "minutes.one": ("application/onenote", "ok", "words\n"),
        "towns.dbf": ("application/x-dbf", "ok", "A\none\n"),
        "letter.hwp": ("application/x-hwp", "ok", "words"),
        "scan.djvu": ("image/vnd.djvu", "ok", "words\n"),
    }


def test_without_it_its_files_are_items_that_nobody_reads(tmp_path: Path) -> None:
    """Each still says what it is."""
    found = _inspected(tmp_path, EDBENCH_PLUGINS="")
    assert {name: (kind, state) for name, (kind, state, _) in found.items()} == {
        "minutes.one": ("application/onenote", "unsupported"),
        "towns.dbf": ("application/x-dbf", "unsupported"),
        "letter.hwp": ("application/x-hwp", "unsupported"),
        "scan.djvu": ("image/vnd.djvu", "unsupported"),
    }


def _text_by_a_box(address: NurseryAddress, media_type: str, name: str) -> str:
    box = order_box(address)
    (handler,) = (one for one in box.introduced() if media_type in one.media_types)
    return boxed(handler, box).text(MemorySource(name.encode(), FILES[name]), Limits()).text


@pytest.mark.parametrize(
    ("media_type", "name"),
    [("application/onenote", "minutes.one"), ("application/x-hwp", "letter.hwp"), ("image/vnd.djvu", "scan.djvu")],
)
def test_boxes_have_it(media_type: str, name: str) -> None:
    """From where they are forked: a box can open no file any more, nor start a thread."""
    address = start_nursery(1024, Settings().plugins, os.environ)
    try:
        assert _text_by_a_box(address, media_type, name).strip() == "words"
    finally:
        address.close()
        os.waitpid(address.pid, 0)


@pytest.mark.parametrize("module", edbench_extra_formats.MEDIA_TYPES)
def test_its_table_is_what_its_modules_declare(module: str) -> None:
    """The registry refuses anything else, when the first file comes."""
    declared = (
        {t for handler in sys.modules[module].HANDLERS for t in handler.media_types} if registry.all_handlers() else ()
    )
    assert declared == set(edbench_extra_formats.MEDIA_TYPES[module])


def test_it_is_a_package_of_its_own() -> None:
    """Installed beside edbench, of which it takes nothing but the readers' ground."""
    project = tomllib.loads((ROOT / "plugins" / PLUGINS[0] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == PLUGINS[0].replace("_", "-")
    assert version(project["name"]) == project["version"] == version("edbench")
    assert project["dependencies"] == ["edbench", "djvu-rs", "unhwp"]
