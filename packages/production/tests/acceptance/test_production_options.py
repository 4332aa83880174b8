"""What a production may be asked for, all of it at once: over two discoveries whose items were looked through before."""

import codecs
import csv
import hashlib
import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pypdfium2
from documents import make
from installation import Bench, Hold, Running
from produced import csv_rows, tree
from small_disk import small_tmpfs

from production import concordance
from production.reading import read_dat

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
        rows = csv_rows(home / "out/loadfile.csv")
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
        pages = ("--format", "pdf", "--dpi", "72", "--prefix", "PAGE", "--first", "7")
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
    known = bench.home / "known.txt"
    known.write_text(f"{hashlib.sha256(_PROGRAM).hexdigest()}  tool.dll\n")

    def result_of(*words: str) -> dict[str, Any]:
        bench.ask(*words, *bench.to_result)
        return bench.result()

    def listed(job: str, *asked: str) -> list[str]:
        return [
            row["name"]
            for row in csv.DictReader(bench.ask("review", "items", job, "-o", "csv", *asked).stdout.splitlines())
        ]

    assert result_of("review", "dedupe", ann, bob, "--scope", "jobs")["duplicates"] == 3
    assert result_of("review", "denist", ann, bob, "--list", str(known))["system"] == 2
    assert listed(bob, "--system", "yes") == ["tool.dll"]
    assert listed(bob, "--system", "no", "--duplicates", "no") == ["plan.pdf", "Überblick.txt"]
    found = result_of("review", "near-dup", ann, bob, "--threshold", "0.9", "--scope", "jobs")
    assert (found["groups"], found["near"], found["same_text"]) == (1, 3, 2)
    assert listed(ann, "--near", "yes") == ["b copy.txt", "c near.txt"]
    assert result_of("review", "languages", ann, bob)["by"]["de"] == 1
    assert listed(bob, "--language", "de") == ["Überblick.txt"]


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
    assert [path.stem for path in pages] == [f"PAGE{n + 7:08d}" for n in range(len(pages))]
    assert len(pages) == sum(int(row["pages"]) for row in csv_rows(out / "metadata.csv")) > 2
    for path in pages:
        with pypdfium2.PdfDocument(path) as document:
            assert len(document) == 1


_MAIL_PRODUCTION_TROUBLE = (
    b"Subject: \xc3\xbe \xc2\xae = \xe2\x80\xae\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nbasket\r\n"
    b'--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="../../up.txt"\r\n\r\npears\r\n--b--\r\n'
)
_NAMES = (
    "CON",
    "nul.txt",
    "A.TXT",
    "a.txt",
    "ends. . ",
    "\u202egpj.exe",
    "n" * 250 + ".txt",
    "þ®\x14.txt",
    "new\nline.txt",
    ".hidden",
)


def _source(home: Path) -> Path:
    """Small files with odd names, two of them of the same bytes, a family, and noise that fills a small disk."""
    custodian = home / "source" / "ann"
    custodian.mkdir(parents=True)
    for number, name in enumerate(_NAMES):
        (custodian / name).write_text(f"plums {number // 2}")
    (custodian / "m.eml").write_bytes(_MAIL_PRODUCTION_TROUBLE)
    noise = random.Random(1)
    for number in range(12):
        (custodian / f"noise {number:02d}.dat").write_bytes(noise.randbytes(150_000))
    return custodian.parent


def _suspended(bench: Bench, process: Running, *words: str) -> str:
    """The command ended with one line that tells why and how to go on; the job."""
    lines = [line for line in bench.end(process, None).splitlines() if line.startswith("edbench: ")]
    assert len(lines) == 1, lines
    suspended = re.match(r"edbench: job ([0-9a-f-]{36}) is suspended: .*edbench job resume", lines[0])
    assert suspended, lines
    assert all(word in lines[0] for word in words), lines
    return suspended[1]


def test_trouble_at_the_destination(bench: Bench) -> None:
    home, hold = bench.home, bench.holdable("export")
    with bench.standing():
        bench.end(bench.discover(corpus=_source(home)))
        bench.edbench("produce", "export", "last", "--out", str(home / "calm"))
        calm = tree(home / "calm")
        _names_are_ours(bench, calm)
        _numbers_are_given_once(bench)
        _one_of_two_has_it(bench, calm)
        _full(bench, calm)
        _replaced(bench, hold, calm)


def _names_are_ours(bench: Bench, calm: dict[str, bytes]) -> None:
    """Nothing of the names gets into paths, and all of them into load files, which a reader of its own takes back."""
    natives = [path for path in calm if "/NATIVES/" in path]
    assert len(natives) == len(_NAMES) + 14
    assert all(re.fullmatch(r"VOL001/NATIVES/0001/EDB[0-9]{8}\.[a-z0-9]{1,10}", path) for path in natives)
    assert ": 0 faults" in bench.ask("produce", "check", str(bench.home / "calm")).stdout
    back = bench.ask("produce", "import", str(bench.home / "calm/loadfile.dat"), "--out", str(bench.home / "back"))
    assert f"{len(natives)} imported ({len(natives)} natives, " in back.stdout
    taken = [path for path in (bench.home / "back").rglob("EDB*.*") if ".edbench-load" not in path.parts]
    assert sorted(path.read_bytes() for path in taken) == sorted(map(calm.get, natives))  # type: ignore[type-var]


def _numbers_are_given_once(bench: Bench) -> None:
    """Another export of some of the items is refused, and told where to go on; a directory in a production is, too."""
    line = ("produce", "export", "last", "--query", "plums", "--out")
    refused = bench.ask(*line, str(bench.home / "more"), check=2).stderr
    assert "give --first 25, or another --prefix" in refused.replace("\n", " ")
    refused = bench.ask(*line, str(bench.home / "calm" / "VOL001" / "x"), "--prefix", "X", check=2).stderr
    assert "another job wrote" in refused.replace("\n", " ")
    assert "give more digits" in bench.ask(*line, str(bench.home / "x"), "--prefix", "com", "--digits", "1", check=2).stderr.replace("\n", " ")  # fmt: skip


def _one_of_two_has_it(bench: Bench, calm: dict[str, bytes]) -> None:
    """Of two jobs that begin together at one directory."""
    running = [bench.start("produce", "export", "last", "--out", str(bench.home / "same")) for _ in range(2)]
    reported = [bench.end(process, None) for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == [0, 2], reported
    assert "give another directory" in reported[codes.index(2)].replace("\n", " ")
    assert tree(bench.home / "same") == calm


def _full(bench: Bench, calm: dict[str, bytes]) -> None:
    with small_tmpfs(bench.home / "full", 1) as enlarge:
        _suspended(bench, bench.start("produce", "export", "last", "--out", str(bench.home / "full")), "No space left")
        enlarge(8)
        bench.edbench("job", "resume", "last")
        bench.until_over()
        assert tree(bench.home / "full") == calm


def _replaced(bench: Bench, hold: Hold, calm: dict[str, bytes]) -> None:
    """By an empty directory, as an unmounted mount point looks."""
    out, away = bench.home / "replaced", bench.home / "away"
    hold.after(0)
    process = bench.start("produce", "export", "last", "--out", str(out))
    hold.until_reached(process)
    out.rename(away)
    out.mkdir()
    hold.let_go()
    _suspended(bench, process, "is not the output directory", "restore it")
    assert list(out.iterdir()) == []
    out.rmdir()
    away.rename(out)
    bench.edbench("job", "resume", "last")
    bench.until_over()
    assert tree(out) == calm


_MAIL_LOAD_FILE_IMPORT = (
    b"From: ann@example.org\r\nTo: bob@example.org\r\nSubject: apples\r\nDate: Tue, 2 Jul 2024 10:00:00 +0000\r\n"
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nfruit basket\r\n"
    b"--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=pears.txt\r\n\r\npears\r\n--b--\r\n"
)
_MEMO = _MAIL_LOAD_FILE_IMPORT.replace(b"apples", b"memorandum").replace(b"pears", b"plums")


def test_a_production_comes_back_with_everything_that_its_load_file_states(bench: Bench) -> None:
    """Each record is an item: of its native, of its text where that is withheld, or of nothing; custodians, families and every
    field are those of the load file, can be asked for, and stand in families again in the next production."""
    home = bench.home
    _source_of_load_file_import(home / "source")
    with bench.standing():
        bench.end(bench.discover(corpus=home / "source"))
        bench.edbench("produce", "export", "last", "--out", str(home / "out"))
        rows = _redacted(home / "out/loadfile.dat")
        taken = bench.ask("produce", "import", str(home / "out/loadfile.dat"), "--out", str(home / "theirs")).stdout
        assert (
            "6 records: 6 imported (4 natives, 1 text, 1 with neither), 0 attachments omitted, 0 not imported" in taken
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


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _source_of_load_file_import(source: Path) -> None:
    files = {
        "ann/m.eml": _MAIL_LOAD_FILE_IMPORT,
        "ann/n.eml": _MEMO,
        "bob/notes.txt": b"about nothing",
        "bob/plan.txt": b"a plan\n",
    }
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
        reported = {key: value for key, value in item["metadata"].items() if key.startswith("load_")}
        assert reported == {f"load_{title.lower()}": value for title, value in row.items() if value}
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
    assert found(f"load_sha256:={rows[3]['SHA256']}") == {"EDB00000004.txt"}


def _families(table: Path, rows: list[dict[str, str]]) -> None:
    """The same records begin families, and what was attached is attached to the same."""
    again = {row["name"]: row for row in csv_rows(table)}
    first = {row["BEGDOC"]: next(name for name in again if name.startswith(row["BEGDOC"])) for row in rows}
    for row in rows:
        item, top = again[first[row["BEGDOC"]]], again[first[row["BEGATTACH"]]]
        assert item["begin_family"] == top["begin"]
        assert item["parent"] == (again[first[row["PARENTDOC"]]]["begin"] if row["PARENTDOC"] else "")
