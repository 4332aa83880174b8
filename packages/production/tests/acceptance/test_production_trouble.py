"""Exports whose destination is full, replaced or wanted twice, of items with names that no file system likes: each is
one line that says what to do, and ends with the bytes of one that nothing happened to."""

from __future__ import annotations

import random
import re
from pathlib import Path

from installation import Bench, Hold, Running
from small_disk import small_tmpfs

from production.options import MARKER

_MAIL = (
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
    (custodian / "m.eml").write_bytes(_MAIL)
    noise = random.Random(1)
    for number in range(12):
        (custodian / f"noise {number:02d}.dat").write_bytes(noise.randbytes(150_000))
    return custodian.parent


def _tree(out: Path) -> dict[str, bytes]:
    """Every file but the marker, which names the job, by path."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != MARKER
    }


def _suspended(bench: Bench, process: Running, *words: str) -> str:
    """The command ended with one line that tells why and how to go on; the job."""
    lines = [line for line in bench.end(process, None).splitlines() if line.startswith("edbench: ")]
    assert len(lines) == 1, lines
    said = re.match(r"edbench: job ([0-9a-f-]{36}) is suspended: .*edbench job resume", lines[0])
    assert said, lines
    assert all(word in lines[0] for word in words), lines
    return said[1]


def test_trouble_at_the_destination(bench: Bench) -> None:
    home, hold = bench.home, bench.holdable("export")
    with bench.standing():
        bench.end(bench.discover(corpus=_source(home)))
        bench.edbench("produce", "export", "last", "--out", str(home / "calm"))
        calm = _tree(home / "calm")
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
    back = bench.ask("produce", "import", str(bench.home / "calm/loadfile.dat"), "--to", str(bench.home / "back"))
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
    told = [bench.end(process, None) for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == [0, 2], told
    assert "give another directory" in told[codes.index(2)].replace("\n", " ")
    assert _tree(bench.home / "same") == calm


def _full(bench: Bench, calm: dict[str, bytes]) -> None:
    with small_tmpfs(bench.home / "full", 1) as enlarge:
        _suspended(bench, bench.start("produce", "export", "last", "--out", str(bench.home / "full")), "No space left")
        enlarge(8)
        bench.edbench("job", "resume", "last")
        bench.until_over()
        assert _tree(bench.home / "full") == calm


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
    assert _tree(out) == calm
