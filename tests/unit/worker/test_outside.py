"""Nothing that a document names is ever fetched: no file, no address; and XML that grows does not."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from outside import CARRIERS, SECRET, VISIBLE, Outside, payloads, references, untouched
from unpacking import make_zip

from core.records import JobOptions, Limits
from worker.inspect.file import Loose, inspect_files

_NOWHERE = Outside(Path("/outside"), 1)
_FOR_LARGE_PARTS = ("entity file", "entity http", "outer DTD http", "billion laughs")  # they take long to pack
_MOST_CHARACTERS = 4_000_000  # the largest of the documents has two million of its own


def inspected(directory: Path, name: str, data: bytes) -> list[dict[str, Any]]:
    """Every item in these bytes, as `inspect` prints it."""
    path = directory / name
    path.write_bytes(data)
    spool = directory / "spool"
    inspect_files([Loose(path=bytes(path), relative=name.encode())], JobOptions(), spool)
    lines = [json.loads(line) for line in spool.read_bytes().split(b"\n") if line]
    spool.unlink()
    return lines


@pytest.mark.parametrize("carrier", CARRIERS)
def test_xml_is_read_as_it_stands(carrier: str, tmp_path: Path) -> None:
    """Entities, document types, inclusions, style sheets and schemas are left where they are, in every format that
    holds XML; what is there without them is read, or the item says why not."""
    with untouched(tmp_path) as outside:
        hostile = payloads(outside)
        for name in _FOR_LARGE_PARTS if carrier.startswith("large") else hostile:
            payload = hostile[name]
            lines = inspected(tmp_path, carrier, CARRIERS[carrier](payload))
            shown = "".join(line["text"] for line in lines)
            assert SECRET not in shown.replace(outside.http, ""), name
            assert len(shown) < _MOST_CHARACTERS, name
            assert VISIBLE in shown or any(line["exceptions"] for line in lines), name


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_carriers_are_read(carrier: str, tmp_path: Path) -> None:
    """Without anything hostile in them their words are found: otherwise the test above would say nothing."""
    lines = inspected(tmp_path, carrier, CARRIERS[carrier](payloads(_NOWHERE)["schema file"]))
    assert VISIBLE in "".join(line["text"] for line in lines)


@pytest.mark.parametrize("name", references(_NOWHERE))
def test_what_documents_refer_to_is_not_fetched(name: str, tmp_path: Path) -> None:
    with untouched(tmp_path) as outside:
        lines = inspected(tmp_path, name, references(outside)[name])
        assert VISIBLE in "".join(line["text"] for line in lines)
        assert not any(line["text"].strip() == SECRET for line in lines)


def test_what_is_watched_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="opened"), untouched(tmp_path) as outside:
        outside.path.read_bytes()

    with pytest.raises(AssertionError, match="connected"), untouched(tmp_path) as outside:
        socket.create_connection(("127.0.0.1", outside.port)).close()


def test_a_string_that_is_in_every_cell_is_cut(tmp_path: Path) -> None:
    """100,000 cells that all show one string of 100,000 characters: text up to the limit, not ten gigabytes."""
    cells = "<c t='s'><v>0</v></c>" * 100_000
    parts = {
        "[Content_Types].xml": "<Types/>",
        "xl/workbook.xml": "<workbook><sheets><sheet name='S'/></sheets></workbook>",
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData><row>{cells}</row></sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst><si><t>{'x' * 100_000}</t></si></sst>",
    }
    data = make_zip({name: content.encode() for name, content in parts.items()})
    path, spool = tmp_path / "a.xlsx", tmp_path / "spool"
    path.write_bytes(data)
    options = JobOptions(limits=Limits(text_characters=3_000_000))
    inspect_files([Loose(path=bytes(path), relative=b"a.xlsx")], options, spool)
    line = json.loads(spool.read_bytes())
    assert (line["text_state"], len(line["text"])) == ("truncated_by_limit", 3_000_000)
