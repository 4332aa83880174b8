"""`inspect` below the command: unpacking files without any database."""

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from unpacking import PNG, make_docx, make_mail, make_mbox, make_tar, make_zip

from cli.main import OK, main
from core.errors import UsageError
from core.operations import NullRecorder
from core.records import JobOptions, Limits
from core.storage.errors import reading_error
from core.storage.layer import Storage
from readers.errors import ExceptionCode
from worker.inspect import tree
from worker.inspect.file import Loose, inspect_files
from worker.inspect.summary import Summary
from worker.inspect.tree import find_loose, inspect_paths

REPOSITORY = Path(__file__).parents[4]


def _file(tmp_path: Path, name: bytes, data: bytes, options: JobOptions | None = None) -> dict[tuple[str, ...], Any]:
    path = os.fsencode(tmp_path) + b"/" + name
    with open(path, "wb") as f:
        f.write(data)
    spool = tmp_path / "spool" / "lines"
    spool.parent.mkdir()
    inspect_files([Loose(path=path, relative=name)], options or JobOptions(), spool)
    lines = [json.loads(line) for line in spool.read_bytes().splitlines()]
    assert list(spool.parent.iterdir()) == [spool]  # what was spilled is gone
    return {tuple(line["container_path"]): line for line in lines}


def _special(loose: Loose) -> tuple[str, ExceptionCode] | None:
    return None if loose.special is None else (loose.special[0], loose.special[1].code)


def test_one_line_for_each_item(tmp_path: Path) -> None:
    """Everything the command promises of an item, nested ones included."""
    mail = make_mail("Über", "body text\n", {"in.zip": make_zip({"x.txt": b"deep text"})})
    found = _file(tmp_path, b"a.mbox", make_mbox(mail))
    assert set(found) == {
        ("a.mbox",),
        ("a.mbox", "message@0"),
        ("a.mbox", "message@0", "in.zip"),
        ("a.mbox", "message@0", "in.zip", "x.txt"),
    }
    message = found["a.mbox", "message@0"]
    assert message["parent"] == found["a.mbox",]["id"]
    assert (message["kind"], message["media_type"]) == ("message", "message/rfc822")
    assert message["metadata"]["subject"] == "Über"
    assert "body text" in message["text"]
    deep = found["a.mbox", "message@0", "in.zip", "x.txt"]
    assert (deep["text"], deep["bytes"], deep["exceptions"]) == ("deep text", 9, [])
    assert deep["sha256"] == hashlib.sha256(b"deep text").hexdigest()


def test_exceptions_are_codes_of_the_item(tmp_path: Path) -> None:
    data = make_zip({"../up": b"x", "empty": b"", "bomb": bytes(2_000_000)})
    options = JobOptions(limits=Limits(expansion_floor=1_000, expansion_ratio=1.0))
    found = _file(tmp_path, b"z.zip", data, options)
    assert {path[-1]: line["exceptions"] for path, line in found.items()} == {
        "z.zip": ["expansion_limit"],
        "../up": ["unsafe_name"],
        "empty": ["zero_bytes"],
    }


def test_a_child_that_does_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.items.unpack.KEEP_BYTES", 10)
    data = make_tar({"big.docx": make_docx("spilled text", bytes(range(256)) * 40_000)})
    found = _file(tmp_path, b"t.tar.gz", data)
    assert "spilled text" in found["t.tar.gz", "big.docx"]["text"]


def test_a_file_that_is_gone_is_a_line_with_a_code(tmp_path: Path) -> None:
    spool = tmp_path / "lines"
    inspect_files([Loose(path=bytes(tmp_path) + b"/gone", relative=b"gone")], JobOptions(), spool)
    (line,) = spool.read_bytes().splitlines()
    assert json.loads(line)["exceptions"] == ["vanished"]


def test_what_lies_in_a_tree(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "loop").symlink_to("..")
    os.mkfifo(tmp_path / "a-fifo")
    with open(bytes(tmp_path) + b"/c\xff", "wb"):
        pass
    found = find_loose(Storage(), str(tmp_path))
    assert [(f.relative, _special(f)) for f in found] == [
        (b"a-fifo", ("inode/fifo", ExceptionCode.SPECIAL_FILE)),
        (b"b/loop", ("inode/symlink", ExceptionCode.SYMLINK)),
        (b"c\xff", None),
    ]
    (one,) = find_loose(Storage(), str(tmp_path / "b" / "loop"))
    assert _special(one) == ("inode/symlink", ExceptionCode.SYMLINK)
    with pytest.raises(UsageError, match="cannot be inspected"):
        list(find_loose(Storage(), str(tmp_path / "none")))


class _Refusing(Storage):
    """A file system that lets nobody into `closed` and where links vanish."""

    def listing(self, path: bytes, *about: Any, **how: Any) -> Any:
        if path.endswith(b"closed"):
            raise reading_error("list", path, OSError(errno.EACCES, "denied"))
        return super().listing(path, *about, **how)

    def stat(self, path: bytes) -> os.stat_result:
        if path.endswith(b"link"):
            raise reading_error("look at", path, OSError(errno.ENOENT, "gone"))
        return super().stat(path)


def test_what_cannot_be_looked_at_is_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "link").symlink_to("x")
    (tmp_path / "z").write_bytes(b"")
    found = {f.relative: _special(f) for f in find_loose(_Refusing(NullRecorder()), str(tmp_path))}
    assert found[b"closed"] == ("inode/directory", ExceptionCode.UNREADABLE)
    assert found[b"link"] == ("application/octet-stream", ExceptionCode.VANISHED)
    assert found[b"z"] is None


def test_a_very_deep_tree(tmp_path: Path) -> None:
    here, depth = os.getcwd(), 0
    os.chdir(tmp_path)
    try:
        while len(os.getcwd()) < 4_000:
            os.mkdir("d")
            os.chdir("d")
            depth += 1
        Path("f").write_bytes(b"x")
        (found,) = find_loose(Storage(), str(tmp_path))
        assert found.relative == b"d/" * depth + b"f"
    finally:  # pytest's own removal of old directories would run into the recursion limit
        Path("f").unlink(missing_ok=True)
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")
        os.chdir(here)


def test_a_directory_swapped_for_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "tree" / "a").mkdir(parents=True)
    for place in ("outside", "tree/a"):
        (tmp_path / place / "f").write_bytes(place.encode())
    (loose,) = find_loose(Storage(), str(tmp_path / "tree"))
    (tmp_path / "tree" / "a").rename(tmp_path / "away")
    (tmp_path / "tree" / "a").symlink_to(tmp_path / "outside")
    inspect_files([loose], JobOptions(), tmp_path / "spool")
    (line,) = (tmp_path / "spool").read_text().splitlines()
    assert json.loads(line)["exceptions"] == ["unreadable"]


@pytest.mark.parametrize(("files", "processes", "loaded"), [(2, 4, []), (3, 4, [()]), (3, 3, [])])
def test_readers_are_loaded_before_processes_are_forked_for_many_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, processes: int, loaded: list[tuple[str, ...]]
) -> None:
    """Once for all of them; of few files each process loads only what it meets, and so do few processes, which are at work sooner.
    Nothing is lost of those looked at first."""
    for number in range(files):
        (tmp_path / f"{number}.txt").write_text(f"word{number}")
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(tree, "_MANY", 3)
    monkeypatch.setattr(tree, "_load_readers", asked.append)
    found = inspect_paths([str(tmp_path)], JobOptions(), processes=processes, memory_mb=1024)
    assert [json.loads(line)["text"] for line in found if isinstance(line, bytes)] == [f"word{n}" for n in range(files)]
    assert asked == loaded


@pytest.mark.parametrize(("messages", "loaded"), [(3, "False False"), (4, "True False"), (200, "True False")])
def test_what_each_process_would_load_is_loaded_once(tmp_path: Path, messages: int, loaded: str) -> None:
    """Before they are forked: the reader of an ending that several files have. Not what few of the files need, as the detector of
    charsets: the other processes would wait for it."""
    for number in range(messages):
        (tmp_path / f"{number}.EML").write_bytes(b"From: a@example.org\nSubject: s\n\nwords\n")
    code = (
        "import os, sys; from core.records import JobOptions; from worker.inspect import tree; load = tree._initialise; "
        "there = lambda name: str(name in sys.modules); "
        "tree._initialise = lambda *how: (os.write(1, (there('readers.mail.eml') + ' ' + there('chardet') + chr(10)).encode()), load(*how))[0] "
        "and None; "
        f"lines = list(tree.inspect_paths([{str(tmp_path)!r}], JobOptions(), processes=1, memory_mb=1024)); "
        "os.write(1, str(len(lines)).encode())"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [loaded, str(messages)]


TRUNCATED = make_zip({"a.txt": b"a" * 500, "b.txt": b"b" * 500}, stored=True)[:600]


def _files(where: Path) -> int:
    (where / "sub").mkdir()
    files = {
        "m.eml": make_mail("s", "text", {"p.png": PNG, "d.docx": make_docx()}),
        "sub/z.zip": make_zip({f"{n}.txt": b"text" for n in range(60)}),
        "sub/cut.zip": TRUNCATED,
        "odd.bin": bytes(range(256)),
        "empty": b"",
    }
    for name, data in files.items():
        (where / name).write_bytes(data)
    (where / "link").symlink_to("nowhere")
    return len(files) + 1


def test_every_file_is_in_the_summary(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """With --jsonl one line an item on standard output, and on standard error a summary that counts the same lines by
    format, text state and exception; without, the first items and the same summary."""
    loose = _files(tmp_path)
    assert main(["inspect", str(tmp_path), "-o", "jsonl", "--processes", "1"], {"COLUMNS": "200"}) == OK
    out, err = capfdbinary.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    summary = Summary()
    for line in lines:
        summary.take(line)
    assert (summary.loose_files, summary.items) == (loose, len(lines)) == (6, 6 + 2 + 1 + 60 + 1)
    assert (summary.expected, summary.emitted, summary.failed, summary.remainders) == (65, 64, 1, 1)
    by_format = summary.formats
    assert by_format["Zip archives"].exceptions == {"truncated": 1}
    assert by_format["Plain text, source code, logs, JSON"].states == {"ok": 61}
    assert by_format["application/octet-stream"].states == {"unsupported": 1}
    assert by_format["inode/symlink"].exceptions == {"symlink": 1}
    shown = b"6 loose files, 70 items, 4 of them with exceptions; children: 65 expected = 64 emitted + 1 failed; 1 cut short"
    assert shown in err
    assert main(["inspect", str(tmp_path), "--processes", "1"], {"COLUMNS": "200"}) == OK
    out, err = capfdbinary.readouterr()
    assert shown in out
    assert b"only the first 50 of 70 items are shown" in out


def test_counts_of_children_are_in_the_lines(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "cut.zip").write_bytes(TRUNCATED)
    (tmp_path / "whole.zip").write_bytes(make_zip({"m.eml": make_mail("s", "t", {"a.bin": b"a"})}))
    assert main(["inspect", str(tmp_path), "-o", "jsonl", "--processes", "1"], {}) == OK
    found = {
        "/".join(line["container_path"]): line["children"]
        for line in map(json.loads, capfdbinary.readouterr().out.splitlines())
        if line["children"]
    }
    assert found == {
        "cut.zip": {"announced": None, "emitted": 1, "failed": 1, "remainder_unknown": True},
        "whole.zip": {"announced": 1, "emitted": 1, "failed": 0, "remainder_unknown": False},
        "whole.zip/m.eml": {"announced": None, "emitted": 1, "failed": 0, "remainder_unknown": False},
    }
