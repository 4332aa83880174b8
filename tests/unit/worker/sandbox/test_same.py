"""worker.sandbox: what is found in a sandbox is what is found without one, and what a read meets comes out as it was."""

import functools
import io
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from bad_files import nested_zip, noise, write_documents
from encrypted import odt
from sandboxes import ended, fork_server
from unpacking import make_docx, make_mail, make_mbox, make_tar, make_zip

from core.errors import SourceFileError, StorageFault
from core.records import JobOptions, Limits
from readers.base import MemorySource, Source
from readers.errors import DocumentError, ExceptionCode
from readers.passwords import NO_PASSWORDS, Passwords
from readers.registry import handler_for
from worker.inspect.file import Loose, inspect_files
from worker.items.sources import CHUNK
from worker.sandbox.fork_server import order_sandbox, start_fork_server
from worker.sandbox.messages import introduction
from worker.sandbox.sandbox import Sandbox, install, sandboxed


def _corpus(place: Path) -> list[Loose]:
    """Bad and good files, some large enough to be read piece by piece, and with members that come as streams."""
    place.mkdir()
    write_documents(place, os.fsencode(place))
    words = random.Random(3).choices(["alpha", "beta", "gamma"], k=300_000)
    text = " ".join(words).encode()
    big = b"".join(noise(number, 1_000_000) for number in range(9))
    files = {
        "large.mbox": make_mbox(*(make_mail(f"s{n}", "hello\n" * 40_000, {"a.txt": b"x"}) for n in range(8))),
        "large.zip": make_zip({"big.bin": big, "in.docx": make_docx("inside"), "deep.zip": nested_zip(4)}, stored=True),
        "large.tar": make_tar({"big.txt": text * 6, "small.txt": b"s"}, mode="w"),
        "large.tar.gz": make_tar({"big.txt": text, "noise": big}),
        "cut.zip": make_zip({"a.txt": text, "b.txt": text})[:-5_000],
        "latin.txt": "caf\xe9 \xfc".encode("latin-1"),
        "japanese.txt": "\u65e5\u672c\u8a9e".encode("shift_jis") * 20,
        "empty": b"",
    }
    for name, data in files.items():
        (place / name).write_bytes(data)
    found = sorted(path for path in place.rglob("*") if path.is_file() and os.access(path, os.R_OK))
    return [Loose(path=os.fsencode(path), relative=os.fsencode(path.relative_to(place))) for path in found]


def _lines(spool: Path) -> list[dict[str, Any]]:
    return sorted((json.loads(line) for line in spool.read_bytes().splitlines()), key=lambda line: str(line["id"]))


def test_every_item_is_the_same(tmp_path: Path) -> None:
    """Rows, texts, metadata and exceptions of a corpus of bad and good files, read whole and piece by piece: in sandboxes of
    a fork server that has loaded what it has to and no more, since a sandbox can load nothing."""
    files = _corpus(tmp_path / "corpus")
    inspect_files(files, JobOptions(), tmp_path / "plain")
    address = start_fork_server(1024, (), os.environ)

    def slot() -> None:
        install(order_sandbox(address))
        inspect_files(files, JobOptions(), tmp_path / "sandboxed")
        (tmp_path / "done").touch()

    try:
        ended(slot, 300)
    finally:
        address.close()
        os.waitpid(address.pid, 0)
    assert (tmp_path / "done").exists()
    assert _lines(tmp_path / "sandboxed") == _lines(tmp_path / "plain")
    assert len(_lines(tmp_path / "plain")) > 60


class _File(io.RawIOBase):
    """A file on a filer that fails behind its first mebibyte."""

    def __init__(self, data: bytes, error: Exception | None, opened: list[int]) -> None:
        super().__init__()
        self._data = io.BytesIO(data)
        self._error = error
        self._opened = opened
        opened.append(1)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._data.seek(offset, whence)

    def readinto(self, buffer: Any, /) -> int:
        if self._error is not None and self._data.tell() >= CHUNK:
            raise self._error
        return self._data.readinto(buffer)

    def close(self) -> None:
        if not self.closed:
            self._opened.pop()
        super().close()


class _Source:
    """What `FilerSource` is, without a filer."""

    def __init__(self, data: bytes, error: Exception | None = None) -> None:
        self.name = b"large.mbox"
        self.size = len(data)
        self.head = data[:4096]
        self.passwords = NO_PASSWORDS
        self.open_files: list[int] = []
        self._data = data
        self._error = error

    def open(self) -> BinaryIO:
        return io.BufferedReader(_File(self._data, self._error, self.open_files), CHUNK)  # type: ignore[return-value]

    def whole(self, limit: int) -> bytes:
        return self._data


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    """One for all, since nothing here kills it."""
    with fork_server() as address:
        yield order_sandbox(address)


@functools.cache
def _mails() -> bytes:
    """An mbox of five megabytes."""
    return make_mbox(*(make_mail(f"s{n}", "hello\n" * 20_000) for n in range(40)))


@pytest.mark.parametrize(
    "error",
    [
        SourceFileError(ExceptionCode.VANISHED, "gone", errno=2),
        SourceFileError(ExceptionCode.UNREADABLE, "an I/O error", errno=5),
        StorageFault("the filer is away", errno=5),
    ],
)
def test_what_a_read_meets_comes_out_as_it_was(sandbox: Any, error: Exception) -> None:
    source: Source = _Source(_mails(), error)
    found = sandboxed(introduction(handler_for("application/mbox")), sandbox).children(source, Limits())
    with pytest.raises(type(error)) as caught:
        list(found)
    assert caught.value is error
    assert list(
        sandboxed(introduction(handler_for("application/mbox")), sandbox).children(_Source(_mails()), Limits())
    )  # it goes on


def test_a_generator_that_is_left_closes_its_files(sandbox: Any) -> None:
    source = _Source(_mails())
    found = sandboxed(introduction(handler_for("application/mbox")), sandbox).children(source, Limits())
    assert next(found).name == b"message@0"
    assert len(source.open_files) == 1
    del found
    assert source.open_files == []


def test_many_generators_are_open_side_by_side(sandbox: Any) -> None:
    handler = sandboxed(introduction(handler_for("application/zip")), sandbox)
    data = make_zip({f"{n}.zip": make_zip({f"{k}.txt": b"%d" % k for k in range(200)}) for n in range(3)})
    seen = []
    for child in handler.children(MemorySource(b"a.zip", data), Limits()):
        assert child.data is not None
        for inner in handler.children(MemorySource(child.name, child.data), Limits()):
            assert inner.data is not None
            text = sandboxed(introduction(handler_for("text/plain")), sandbox).text(
                MemorySource(inner.name, inner.data), Limits()
            )
            seen.append((child.name, inner.name, text.text))
    assert seen == [(b"%d.zip" % n, b"%d.txt" % k, str(k)) for n in range(3) for k in range(200)]


def test_passwords_go_along(sandbox: Any) -> None:
    """Those of the source that is read, and none of an earlier one."""
    sealed = odt("behind a lock", "sesame")
    handler = sandboxed(introduction(handler_for("application/vnd.oasis.opendocument.text")), sandbox)
    found = handler.text(MemorySource(b"a.odt", sealed, Passwords({"no": 1, "sesame": 2})), Limits())
    assert "behind a lock" in found.text
    assert found.metadata["password_line"] == 2
    again = bytes(bytearray(sealed))
    with pytest.raises(DocumentError) as caught:
        handler.text(MemorySource(b"a.odt", again), Limits())
    assert caught.value.code is ExceptionCode.ENCRYPTED


def test_hashes_and_children_come_with_the_type(sandbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One exchange for a message in memory; what is not taken of it is closed with the next."""
    asked: list[str] = []
    ask = Sandbox.ask
    monkeypatch.setattr(
        Sandbox, "ask", lambda self, what, *rest: asked.append(type(what).__name__) or ask(self, what, *rest)
    )
    plain = handler_for("message/rfc822")
    handler, limits = sandboxed(introduction(plain), sandbox), Limits()
    for taken in (True, False, True):
        source = MemorySource(b"a.eml", make_mail(f"taken {taken}", attachments={"a.bin": b"bytes"}))
        asked.clear()
        assert sandbox.identify(source, None, limits) == "message/rfc822"
        if taken:
            assert handler.message_hashes(source, limits) == plain.message_hashes(source, limits)
            children = [(child.name, child.data) for child in handler.children(source, limits)]
            assert children == [(child.name, child.data) for child in plain.children(source, limits)]
            assert children
            assert list(handler.children(source, limits))  # a second time they are asked for
            assert asked == ["Identify", "Children"]
        assert sandbox.identify(MemorySource(b"a.txt", b"hello %d" % taken), None, None) == "text/plain"
