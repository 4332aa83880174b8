"""A production that was exported is taken in again by its load file: nothing of a record is lost on the way."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from installation import Bench

from production import concordance
from production.reading import read_dat

_MAIL = (
    b"From: ann@example.org\r\nTo: bob@example.org\r\nSubject: apples\r\nDate: Tue, 2 Jul 2024 10:00:00 +0000\r\n"
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nfruit basket\r\n"
    b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=pears.txt\r\n\r\npears\r\n--b--\r\n"
)
_MEMO = _MAIL.replace(b"apples", b"memorandum").replace(b"pears", b"plums")


def test_a_production_comes_back_with_everything_that_its_load_file_says(bench: Bench) -> None:
    """Each record is an item: of its native, of its text where that is withheld, or of nothing; custodians, families and every
    field are those of the load file, can be asked for, and stand in families again in the next production."""
    home = bench.home
    _source(home / "source")
    with bench.standing():
        bench.end(bench.discover(corpus=home / "source"))
        bench.edbench("produce", "export", "last", "--out", str(home / "out"))
        rows = _redacted(home / "out/loadfile.dat")
        taken = bench.ask("produce", "import", str(home / "out/loadfile.dat"), "--to", str(home / "theirs")).stdout
        assert (
            "6 records: 6 imported (4 natives, 1 texts, 1 with neither), 0 attachments omitted, 0 not imported" in taken
        )
        bench.end(bench.discover(corpus=home / "theirs"))
        verified = bench.ask("verify", "last", "--internal").stdout
        assert "0 missing, 0 extra, 0 wrong" in verified
        assert "6 records of a load file" in verified
        bench.edbench("produce", "text", "last", "--out", str(home / "texts"))
        _compare(home / "texts/metadata.jsonl", rows)
        _ask(bench, rows)
        bench.edbench("produce", "export", "last", "--out", str(home / "again"), "--prefix", "AGAIN")
        assert ": 0 faults" in bench.ask("produce", "check", str(home / "again")).stdout
        _families(home / "again/loadfile.csv", rows)
        (home / "theirs/bob/EDB00000006.txt").unlink()
        bench.end(bench.discover(corpus=home / "theirs"))
        assert "1 missing" in bench.ask("verify", "last", "--internal", check=1).stdout


def test_a_record_that_another_program_wrote_is_an_item_or_a_line(bench: Bench) -> None:
    """Double numbers, numbers that give one file name, none at all, paths from the root and in other letters: what is taken is
    what a discovery finds, and whatever is not has its true reason."""
    home = bench.home
    for name in ("A1.txt", "A2.txt", "A3.txt"):
        _write(home / "theirs/NATIVES" / name, name.encode())
    rows = [
        ("B1", "\\NATIVES\\a1.TXT"), ("B1", "\\NATIVES\\A2.txt"), ("B/2", "NATIVES\\A2.txt"), ("B:2", "/NATIVES/A3.txt"),
        ("", ".\\NATIVES\\A3.txt"), ("", "natives\\A3.txt"),
    ]  # fmt: skip
    dat = concordance.head(("BEGDOC", "CUSTODIAN", "NATIVELINK"))
    dat += concordance.lines([[number, "ann", path] for number, path in rows])
    load_file = _write(home / "theirs/DATA/l.dat", dat)
    words = ("produce", "import", str(load_file))
    lost = bench.ask(*words, "--to", str(home / "lost"), check=1).stdout
    assert f"missing, or not a file; it is found with --root {(home / 'theirs').resolve()}" in lost
    taken = bench.ask(*words, "--to", str(home / "source"), "--root", str(home / "theirs"), check=1).stdout
    assert taken.splitlines()[:3] == [
        "B1: record 2 has the number of an earlier one and is not imported",
        "record 5: it has no number, and is imported as ann/item.txt",
        "record 6: it has no number, and is imported as ann/item-1.txt",
    ]
    assert (
        "6 records: 5 imported (5 natives, 0 texts, 0 with neither), 0 attachments omitted, 1 not imported; 0 differ from"
        in taken
    )
    with bench.standing():
        bench.end(bench.discover(corpus=home / "source"))
        assert "0 missing, 0 extra, 0 wrong" in bench.ask("verify", "last", "--internal").stdout
        listed = csv.DictReader(bench.ask("review", "items", "last", "-o", "csv").stdout.splitlines())
        assert sorted(row["name"] for row in listed) == ["B1.txt", "B_2-1.txt", "B_2.txt", "item-1.txt", "item.txt"]


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _source(source: Path) -> None:
    files = {"ann/m.eml": _MAIL, "ann/n.eml": _MEMO, "bob/notes.txt": b"about nothing", "bob/plan.txt": b"a plan\n"}
    for path, data in files.items():
        _write(source / path, data)


def _redacted(dat: Path) -> list[dict[str, str]]:
    """The records, after one of them has lost its native and one its text too, as what is produced redacted or as images."""
    rows = [dict(row) for row in read_dat(dat)]
    assert [row["FILENAME"] for row in rows] == ["m.eml", "pears.txt", "n.eml", "plums.txt", "notes.txt", "plan.txt"]
    rows[2]["NATIVEPATH"] = rows[4]["NATIVEPATH"] = rows[4]["TEXTPATH"] = ""
    titles = tuple(rows[0])
    dat.write_bytes(concordance.head(titles) + concordance.lines([[row[title] for title in titles] for row in rows]))
    return rows


def _compare(metadata: Path, rows: list[dict[str, str]]) -> None:
    """Each record is an item of its custodian that says every field; only what natives hold is there beside."""
    items = [json.loads(line) for line in metadata.read_text(encoding="utf-8").splitlines()]
    loose = {item["metadata"]["load_begdoc"]: item for item in items if "load_begdoc" in item["metadata"]}
    assert [*loose] == [row["BEGDOC"] for row in rows]
    for row, item in zip(rows, loose.values(), strict=True):
        told = {key: value for key, value in item["metadata"].items() if key.startswith("load_")}
        assert told == {f"load_{title.lower()}": value for title, value in row.items() if value}
        assert item["custodian"] == row["CUSTODIAN"]
        if row["NATIVEPATH"]:
            assert (item["sha256"], item["bytes"]) == (row["SHA256"], int(row["FILESIZE"]))
    memo, images = loose["EDB00000003"], loose["EDB00000005"]
    wanted = ("memorandum", "ann@example.org", "bob@example.org", "2024-07-02T10:00:00Z")
    assert tuple(memo["metadata"][name] for name in ("subject", "from", "to", "date")) == wanted
    assert (memo["media_type"], memo["exceptions"], images["bytes"]) == ("text/plain", [], 0)
    assert images["exceptions"] == ["no_native", "zero_bytes"]
    assert [item["name"] for item in items if item not in loose.values()] == ["pears.txt"]


def _ask(bench: Bench, rows: list[dict[str, str]]) -> None:
    """By what only the load file says."""

    def found(query: str, *options: str) -> set[str]:
        hits = json.loads(bench.ask("review", "search", "last", query, "-o", "json", *options).stdout)
        return {hit["container_path"][0].rpartition("/")[2] for hit in hits}

    assert found(f"load_begdoc:={rows[3]['BEGDOC']}") == {"EDB00000004.txt"}
    family = found("load_begdoc:=EDB00000004", "--families")
    assert family == {"EDB00000003.txt", "EDB00000004.txt"}
    assert found("load_filename:notes") == {"EDB00000005"}
    assert found("subject:memorandum AND load_custodian:ann") == {"EDB00000003.txt"}
    assert found("exception:no_native") == {"EDB00000005"}
    listed = bench.ask("review", "items", "last", "-o", "csv", "--where", f"load_sha256={rows[3]['SHA256']}").stdout
    assert [row["name"] for row in csv.DictReader(listed.splitlines())] == ["EDB00000004.txt"]


def _families(table: Path, rows: list[dict[str, str]]) -> None:
    """The same records begin families, and what was attached is attached to the same."""
    with table.open(newline="", encoding="utf-8") as file:
        again = {row["name"]: row for row in csv.DictReader(file)}
    first = {row["BEGDOC"]: next(name for name in again if name.startswith(row["BEGDOC"])) for row in rows}
    for row in rows:
        item, top = again[first[row["BEGDOC"]]], again[first[row["BEGATTACH"]]]
        assert item["begin_family"] == top["begin"]
        assert item["parent"] == (again[first[row["PARENTDOC"]]]["begin"] if row["PARENTDOC"] else "")
