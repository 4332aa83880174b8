"""What a production may be asked for, all of it at once: over two discoveries whose items were looked through before."""

from __future__ import annotations

import codecs
import csv
import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pypdfium2
from documents import make
from installation import Bench

_LETTER = (
    "The committee met on Monday morning and agreed that the new bridge over the river should be painted green before"
    " winter comes, because wood that is left without paint for two years will begin to rot"
)
_GERMAN = "Der Ausschuss hat am Montag beschlossen, dass die neue Brücke über den Fluss vor dem Winter gestrichen wird."
_MAIL = (
    b"Subject: apples\r\nBcc: carl@example.org\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nfruit basket\r\n"
    b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=pears.txt\r\n\r\npears\r\n--b--\r\n"
)
_PROGRAM = b"MZ a program that everybody has"
_VOLUME = 1_100  # bytes


def test_options_of_productions_that_choose_number_and_write(bench: Bench) -> None:
    home = bench.home
    with bench.standing():
        ann, bob = (_discovered(bench, custodian) for custodian in ("ann", "bob"))
        _looked_through(bench, ann, bob)
        chosen = ("--originals", "--not-nist", "--volume-gb", str(_VOLUME / 1e9), "--dat-encoding", "utf-16-le")
        bench.edbench("produce", "export", ann, bob, "--out", str(home / "out"), *chosen)
        rows = _rows(home / "out/loadfile.csv")
        names = ["a letter.txt", "c near.txt", "m.eml", "pears.txt", "plan.pdf", "Überblick.txt"]
        assert [row["name"] for row in rows] == names
        assert [row["all_custodians"] for row in rows] == ["ann; bob", *["ann"] * 3, *["bob"] * 2]
        assert ["carl@example.org" in row["bcc"] for row in rows] == [name == "m.eml" for name in names]
        _in_volumes(home / "out", rows)
        dat = (home / "out/loadfile.dat").read_bytes()
        assert dat.startswith(codecs.BOM_UTF16_LE + "þBEGDOCþ\x14".encode("utf-16-le"))
        assert "þÜberblick.txtþ".encode("utf-16-le") in dat
        checked = bench.ask("produce", "check", str(home / "out")).stdout
        assert "6 records" in checked
        assert ": 0 faults" in checked
        pages = ("--format", "pdf", "--dpi", "72", "--prefix", "PAGE")
        bench.edbench("produce", "images", bob, "--out", str(home / "pages"), *pages, "--not-nist")
        _pages(home / "pages")


def _discovered(bench: Bench, custodian: str) -> str:
    """A discovery of one custodian's; its id."""
    folder = bench.home / f"source of {custodian}" / custodian
    folder.mkdir(parents=True)
    (folder / "tool.dll").write_bytes(_PROGRAM)
    files: dict[str, bytes] = {
        "ann": {"a letter.txt": _LETTER.encode(), "b copy.txt": _LETTER.encode(), "c near.txt": f"{_LETTER} soon".encode(), "m.eml": _MAIL},
        "bob": {"again.txt": _LETTER.encode(), "plan.pdf": make("pdf", 1, 12_000).data, "Überblick.txt": _GERMAN.encode()},
    }[custodian]  # fmt: skip
    for name, data in files.items():
        (folder / name).write_bytes(data)
    bench.end(bench.discover(corpus=folder.parent))
    return str(bench.result()["job_id"])


def _looked_through(bench: Bench, ann: str, bob: str) -> None:
    """By the commands, whose findings are then asked for."""
    known, told = bench.home / "known.txt", bench.home / "told.json"
    known.write_text(f"{hashlib.sha256(_PROGRAM).hexdigest()}  tool.dll\n")

    def said(*words: str) -> dict[str, Any]:
        bench.ask(*words, "-o", "json", "--output-file", str(told))
        return dict(json.loads(told.read_text()))

    def listed(job: str, *asked: str) -> list[str]:
        return [
            row["name"]
            for row in csv.DictReader(bench.ask("review", "items", job, "-o", "csv", *asked).stdout.splitlines())
        ]

    assert said("review", "dedupe", ann, bob, "--scope", "jobs")["duplicates"] == 3
    assert said("review", "denist", ann, bob, "--list", str(known))["system"] == 2
    assert listed(bob, "--system", "yes") == ["tool.dll"]
    assert listed(bob, "--system", "no", "--duplicates", "no") == ["plan.pdf", "Überblick.txt"]
    found = said("review", "near-dup", ann, bob, "--threshold", "0.9", "--scope", "jobs")
    assert (found["groups"], found["near"], found["same_text"]) == (1, 3, 2)
    assert listed(ann, "--near", "yes") == ["b copy.txt", "c near.txt"]
    assert said("review", "languages", ann, bob)["by"]["de"] == 1
    assert listed(bob, "--language", "de") == ["Überblick.txt"]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _in_volumes(out: Path, rows: list[dict[str, str]]) -> None:
    """None is larger than was said, but for a family alone, none begins where the one before had room, no family is cut."""
    volumes: dict[str, dict[str, int]] = {}
    for row in rows:
        families = volumes.setdefault(row["native"].partition("/")[0], {})
        size = (out / row["native"]).stat().st_size + len((out / row["text"]).read_bytes().decode())
        families[row["begin_family"]] = families.get(row["begin_family"], 0) + size
    assert list(volumes) == [f"VOL{n + 1:03d}" for n in range(len(volumes))]
    sizes = [list(families.values()) for families in volumes.values()]
    assert len(sizes) > 2
    assert all(sum(each) <= _VOLUME or len(each) == 1 for each in sizes)
    assert all(sum(one) + other[0] > _VOLUME for one, other in itertools.pairwise(sizes))
    assert sum(map(len, sizes)) == len({row["begin_family"] for row in rows})


def _pages(out: Path) -> None:
    """Each is a PDF of one page, as many as were numbered."""
    pages = sorted(out.rglob("VOL001/IMAGES/*/*.pdf"))
    assert [path.stem for path in pages] == [f"PAGE{n + 1:08d}" for n in range(len(pages))]
    assert len(pages) == sum(int(row["pages"]) for row in _rows(out / "metadata.csv")) > 2
    for path in pages:
        with pypdfium2.PdfDocument(path) as document:
            assert len(document) == 1
