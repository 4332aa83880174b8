"""Bad input of every kind in one source: each file gets its exception, its siblings nothing, and the job its end."""

import base64
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archive_files import zipped
from bad_files import HOSTILE, NESTED, UNSAFE, Expected, reopen, write_closed, write_documents, write_specials
from installation import Bench

NOBODY = 65534
DEPTH = 16  # core.records.Limits.depth
ODD_NAMES = (
    b"caf\xe9.txt",
    b"\xff\xfe\x80.txt",
    b"new\nline.txt",
    b"tab\t.txt",
    "naïve – ünï.txt".encode(),
    b"-rf *.txt",
)
ODD_CUSTODIAN = b"ren\xe9"
SIBLINGS = 12

Item = dict[str, Any]


def _write_source(bench: Bench) -> Expected:
    """Everything that is bad, among siblings that are good."""
    source = bench.home / "source"
    ann = source / "ann"
    ann.mkdir(parents=True)
    expected = write_documents(ann, bytes(bench.home / "escaped-absolute.txt")) | write_specials(ann)
    for number in range(SIBLINGS):
        (ann / f"sibling {number:02d}.txt").write_text(f"sesame sibling {number}")
    (ann / "good.zip").write_bytes(zipped({"inside.txt": b"sesame inside"}))
    for name in ("vanishing.txt", "changing.txt"):
        (ann / name).write_text("sesame")
    expected |= {("ann/vanishing.txt",): ["vanished"], ("ann/changing.txt",): ["special_file"]}
    odd = bytes(source) + b"/" + ODD_CUSTODIAN
    os.mkdir(odd)
    for name in ODD_NAMES:
        Path(os.fsdecode(odd + b"/" + name)).write_bytes(b"sesame odd " + name)
    return expected


def _outside(bench: Bench) -> set[Path]:
    """Everything under the installation's directory that is not its own to write."""
    own = (bench.storage, bench.scratch, bench.home / "hold")
    return {p for p in bench.home.rglob("*") if not any(p == o or o in p.parents for o in own)}


def _run(bench: Bench) -> str:
    """One job over it, with two files changed between walk and expand; what it printed."""
    source = bench.home / "source"
    before = _outside(bench)
    process, hold = bench.discover_held(
        "expand", 0, "--workers", "1", "--slots", "2", corpus=source
    )  # everything is walked, and no file opened
    changing = source / "ann" / "changing.txt"
    changing.unlink()
    os.mkfifo(changing)
    (source / "ann" / "vanishing.txt").unlink()
    hold.let_go()
    out = bench.end(process)
    new = _outside(bench) - before
    assert {p.name for p in new} == {"r.json"}, "something was written outside"
    return out


def _items(bench: Bench) -> dict[tuple[str, ...], Item]:
    lines = bench.ask("review", "items", "last", "-o", "jsonl").stdout.splitlines()
    return {tuple(item["container_path"]): item for item in map(json.loads, lines)}


def _name(item: Item) -> bytes:
    """The name as it was, whatever it was."""
    return base64.b64decode(item["name_b64"]) if "name_b64" in item else item["name"].encode()


@pytest.mark.usefixtures("attached")
def test_bad_input(bench: Bench) -> None:
    """Every kind of the issue's list at once, in one job: the exact codes of every item, what could be extracted,
    the names, and the job's own promises."""
    expected = _write_source(bench)
    _run(bench)
    result = bench.result()
    assert result["state"] == "completed_with_exceptions"
    assert result["violations"] == []
    with bench.attached():
        items = _items(bench)
        bench.ask("verify", "last", "--internal")
        _check_odd_names(bench, items)
    assert len(items) == result["items"]
    for path, item in items.items():
        if len(path) == 1:
            assert item["exceptions"] == expected.pop(path, []), path
    assert expected == {}, "items that are not there"
    _check_siblings(items)
    _check_kept(items)
    _check_limits(items)
    _check_member_names(bench, items)
    _check_written(bench, result["job_id"])


def _check_siblings(items: dict[tuple[str, ...], Item]) -> None:
    """What lies beside bad files is read whole."""
    for number in range(SIBLINGS):
        item = items[(f"ann/sibling {number:02d}.txt",)]
        assert (item["text_state"], item["characters"]) == ("ok", len(f"sesame sibling {number}"))
    assert items[("ann/good.zip", "inside.txt")]["text_state"] == "ok"


def _check_kept(items: dict[tuple[str, ...], Item]) -> None:
    """What could be extracted is there, and the codes of what was only partly."""

    def children(name: str) -> dict[str, list[str]]:
        return {p[1]: i["exceptions"] for p, i in items.items() if len(p) == 2 and p[0] == f"ann/{name}"}

    assert children("truncated.zip") == {"one.txt": []}
    assert children("corrupt.zip") == {"one.txt": [], "three.txt": []}
    assert children("overlapping.zip") == {"one.bin": ["unsupported"]}
    assert children("bomb.zip") == {"readme.txt": [], "after.txt": []}
    assert children("truncated.gz") == {"truncated": ["truncated", "unsupported"]}
    assert children("corrupt.gz") == {"corrupt": ["corrupt", "unsupported"]}
    assert items[("ann/truncated.gz", "truncated")]["bytes"] > 19_000
    assert items[("ann/corrupt.gz", "corrupt")]["bytes"] == 30_000
    assert children("truncated.eml") == {f"../../escaped-{n}.bin": ["unsafe_name"] for n in (1, 2)}
    assert len(children("headerless message.mbox")) == 2
    for name in ("corrupt.docx", "truncated.pdf", "truncated.eml", "corrupt.eml"):
        assert items[(f"ann/{name}",)]["characters"] > 0, name
    for name in ("encrypted.zip", "encrypted.pdf", "encrypted.docx"):
        assert children(name) == {}
    assert items[("ann/encrypted.pdf",)]["text_state"] == items[("ann/encrypted.docx",)]["text_state"] == "encrypted"


def _check_limits(items: dict[tuple[str, ...], Item]) -> None:
    """Bombs, the archive that holds itself and too deep nesting end at their limits, each with its code."""
    chain = [i for p, i in sorted(items.items(), key=lambda pair: len(pair[0])) if p[0] == "ann/itself.zip"]
    assert len(chain) == DEPTH + 1
    assert len({i["sha256"] for i in chain}) == 1
    nested = [i for p, i in sorted(items.items(), key=lambda pair: len(pair[0])) if p[0] == "ann/nested.zip"]
    assert len(nested) == DEPTH + 1 < NESTED
    for stopped in (chain, nested):
        assert [i["exceptions"] for i in stopped] == [[]] * DEPTH + [["nesting_limit"]]
    parts = [items[("ann/bomb in parts.zip", f"{n}.zip")]["exceptions"] for n in range(8)]
    assert parts == [[]] * 3 + [["expansion_limit"]] * 5


def _check_member_names(bench: Bench, items: dict[tuple[str, ...], Item]) -> None:
    """Hostile names are kept byte for byte in the row, with an exception, and are nobody's path."""
    absolute = bytes(bench.home / "escaped-absolute.txt")
    found = {_name(i): i["exceptions"] for p, i in items.items() if len(p) == 2 and p[0] == "ann/hostile.zip"}
    assert found == {n: ["unsafe_name"] if n in UNSAFE or n == absolute else [] for n in (*HOSTILE, absolute)}
    tar = {_name(i): i["exceptions"] for p, i in items.items() if len(p) == 2 and p[0] == "ann/hostile.tar"}
    assert tar == {
        b"../../../../escaped-tar.txt": ["unsafe_name"],
        absolute: ["unsafe_name"],
        b"link": ["symlink"],
        b"link/escaped-by-link.txt": [],
        b"fifo": ["special_file"],
    }
    assert not [p for above in (bench.home, *bench.home.parents) for p in above.glob("escaped*")]


def _check_odd_names(bench: Bench, items: dict[tuple[str, ...], Item]) -> None:
    """Names on disk that are not UTF-8 come back as they were, and their files were read and are found."""
    odd = {_name(i): i for i in items.values() if i["custodian"] == "ren\\xe9"}
    assert odd.keys() == set(ODD_NAMES)
    assert {i["text_state"] for i in odd.values()} == {"ok", "guessed"}  # their names are their texts
    assert all(i["exceptions"] == [] for i in odd.values())
    hits = json.loads(bench.ask("review", "search", "last", "sesame odd custodian:ren*", "-o", "json").stdout)
    assert len(hits) == len(ODD_NAMES), hits


def _check_written(bench: Bench, job: str) -> None:
    """Under the storage root there are only files named by us, in the job's folder."""
    own = re.compile(rf"jobs/{job.replace('-', '')}/(items/[0-9a-f]{{2}}/[0-9a-f]{{32}}|index/[0-9a-f]{{32}}/[\w.-]+)")
    written = [str(p.relative_to(bench.storage)) for p in bench.storage.rglob("*") if not p.is_dir()]
    assert written
    assert [p for p in written if not own.fullmatch(p)] == []


@pytest.fixture
def closed(bench: Bench) -> Iterator[tuple[Bench, Expected]]:
    """A source with files and directories that may not be read, for an ordinary user."""
    if os.geteuid() == 0:
        bench.become(NOBODY)
    ann = bench.home / "source" / "ann"
    ann.mkdir(parents=True)
    (ann / "sibling.txt").write_text("sesame")
    shut = bench.home / "source" / "bob"  # a custodian whose directory is closed
    shut.mkdir(mode=0)
    expected = write_closed(ann) | {("bob",): ["unreadable"]}
    if os.geteuid() == 0:
        for path in (shut, *ann.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    yield bench, expected
    reopen(ann)


def test_unreadable_files_and_directories(closed: tuple[Bench, Expected]) -> None:
    """Each is an item with its exception, whatever lies beside it is read; a source that may not be listed at all is
    refused before anything starts."""
    bench, expected = closed
    bench.end(bench.discover("--workers", "1", "--slots", "2", corpus=bench.home / "source"))
    assert bench.result()["state"] == "completed_with_exceptions"
    items = _items(bench)
    assert {p: i["exceptions"] for p, i in items.items()} == expected | {("ann/sibling.txt",): []}
    assert items[("ann/sibling.txt",)]["text_state"] == "ok"
    refused = bench.edbench("discover", str(bench.home / "source" / "ann" / "closed"), check=2).stderr
    assert re.fullmatch(r"edbench: source .*/closed cannot be listed \(.*Permission denied\); check .*\n", refused), (
        refused
    )
