"""worker.sandbox: what a parser that was taken over can do, which is to return bytes; and what a sandbox that lies achieves."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from intruder_plugin import HANDLERS, Targets
from killer_plugin import HANDLERS as KILLERS
from sandboxes import ended, fork_server

from core.records import Limits
from readers.base import Handler, MemorySource
from readers.registry import handler_for
from worker.sandbox.fork_server import order_sandbox, start_fork_server
from worker.sandbox.messages import ENCODER, Count, FarText, Pipe, Read, introduction
from worker.sandbox.sandbox import sandboxed

PLUGINS = Path(__file__).parents[3] / "support" / "plugins"
ROOT = os.geteuid() == 0
NOBODY = 65_534
USERS = [None, pytest.param(NOBODY, marks=pytest.mark.skipif(not ROOT, reason="only root can become another"))]


@pytest.fixture
def targets(tmp_path: Path) -> Iterator[Targets]:
    """A victim of each kind, all of them open to everybody as far as files go."""
    victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], env={"SECRET": "x"})
    readable = tmp_path / "readable"
    readable.write_text("x")
    (tmp_path / "removable").write_text("x")
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        short = os.path.relpath(tmp_path / "s")
        local.bind(short if len(short) < 100 else str(tmp_path / "s"))
        local.listen()
        try:
            yield Targets(
                slot=victim.pid,
                port=server.getsockname()[1],
                unix=short if len(short) < 100 else str(tmp_path / "s"),
                readable=str(readable),
                directory=str(tmp_path),
            )
        finally:
            victim.kill()
            victim.wait()


def _register() -> None:
    from worker.parsers import load_plugins

    load_plugins(("intruder_plugin", "killer_plugin"))


def _body(talk: int, memory_mb: int) -> int:
    from worker.sandbox.main import live

    _register()
    return live(talk, memory_mb)


@pytest.mark.parametrize("user", USERS)
def test_a_parser_that_was_taken_over_gets_nowhere(targets: Targets, user: int | None) -> None:
    with fork_server(user, _body) as address:
        found = (
            sandboxed(introduction(HANDLERS[0]), order_sandbox(address))
            .text(MemorySource(b"x", targets.file()), Limits())
            .metadata
        )
    del found["secrets"]  # of this process, which it was forked from; see test_a_fork_server_is_started_without_secrets
    files, users = found.pop("files"), found.pop("user")
    assert {what: how for what, how in found.items() if not how.startswith("refused")} == {}
    assert len(found) >= 25
    assert files == [0, 1, 2, 3]  # nothing, nothing, what it says, the slot
    if ROOT and user is None:
        assert 0 not in users
        assert NOBODY not in users


def test_without_a_sandbox_it_would_have(targets: Targets) -> None:
    found = HANDLERS[0].text(MemorySource(b"x", targets.file()), Limits()).metadata
    known = ("read any file", "write a file", "fork", "connect to the database's port", "signal the slot")
    assert {what: found[what] for what in known} == dict.fromkeys(known, "done")
    if ROOT:
        assert {found["read /etc/shadow"], found["read the slot's environment"], found["trace the slot"]} == {"done"}


def test_a_fork_server_is_started_without_secrets(targets: Targets) -> None:
    env = {**os.environ, "EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:hush-hush@h/d", "PYTHONPATH": str(PLUGINS)}
    address = start_fork_server(1024, ("intruder_plugin",), env)
    try:
        found = (
            sandboxed(introduction(HANDLERS[0]), order_sandbox(address))
            .text(MemorySource(b"x", targets.file()), Limits())
            .metadata
        )
        assert b"hush-hush" not in Path(f"/proc/{address.pid}/environ").read_bytes()
    finally:
        address.close()
        os.waitpid(address.pid, 0)
    assert found["secrets"] == []
    assert found["read /etc/passwd"].startswith("refused")


def _end(handler: Handler, data: bytes, body: Callable[[int, int], int], *, text: bool = False) -> int:
    """The wait status of a slot that has this read in a sandbox which does `body`."""
    with fork_server(body=body) as address:

        def slot() -> None:
            one = sandboxed(introduction(handler), order_sandbox(address))
            source = MemorySource(b"x", data)
            if text:
                one.text(source, Limits())
            else:
                list(one.children(source, Limits()))

        return ended(slot)


def test_a_slot_dies_as_its_sandbox_died() -> None:
    status = _end(KILLERS[0], b"KILLER children", _body)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGABRT


def test_a_sandbox_dies_with_its_slot() -> None:
    with fork_server(body=_body) as address:
        read, write = os.pipe()

        def slot() -> None:
            sandbox = order_sandbox(address)
            sandboxed(introduction(KILLERS[0]), sandbox).text(MemorySource(b"x", b"KILLER"), Limits())
            os.write(write, b"x")
            list(sandboxed(introduction(KILLERS[0]), sandbox).children(MemorySource(b"x", b"KILLER hang"), Limits()))

        pid = os.fork()
        if not pid:
            with contextlib.suppress(BaseException):
                slot()
            os._exit(0)
        os.read(read, 1)
        (child,) = Path(f"/proc/{address.pid}/task/{address.pid}/children").read_text().split()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        deadline = time.monotonic() + 300
        while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Path(f"/proc/{child}").exists()
        os.close(read)
        os.close(write)


_LIES: dict[str, Any] = {
    "no message": b"\xff\xff\xff",
    "nothing": b"",
    "another answer": ENCODER.encode(Count(1)),
    "a count below zero": msgspec.msgpack.encode([3, -1, []]),
    "metadata that is no JSON": ENCODER.encode(FarText(b"", None, None, b"{", None)),
    "metadata that is a list": ENCODER.encode(FarText(b"", None, None, b"[]", None)),
    "metadata without end": ENCODER.encode(FarText(b"", None, None, b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", None)),
    "metadata of a depth": ENCODER.encode(FarText(b"", None, None, b'{"a":' * 90_000 + b"1" + b"}" * 90_000, None)),
    "more pages than fit": ENCODER.encode(FarText(b"", None, 1 << 40, b"", None)),
    "no text": ENCODER.encode(FarText(b"\xff\xfe\xfa", None, None, b"", None)),
    "a code that is none": msgspec.msgpack.encode([0, ["made up", "x", None], []]),
    "a state that is none": msgspec.msgpack.encode([7, b"", "made up", None, b"", None, []]),
    "a file that is not open": ENCODER.encode(Read(77, 0, 10)),
    "more than it may read": msgspec.msgpack.encode([23, 1, 0, 1 << 60, []]),
    "a message of a petabyte": struct.pack("<Q", 1 << 50),
    "two messages at once": ENCODER.encode(Count(1)) + struct.pack("<Q", 3) + b"abc",
}


_FAR = [b"a", "attachment", 0, None, True, None, None, True, None, 1, None, b"", 0]
_EARLY = msgspec.msgpack.encode([5, [_FAR, _FAR], False, None, []])  # names a stream too early


@pytest.mark.parametrize(
    ("media_type", "lie"),
    [*(("text/plain", lie) for lie in _LIES.values()), ("application/zip", _EARLY)],
    ids=[*_LIES, "a child's stream"],
)
def test_a_sandbox_that_lies_ends_its_slot_and_convicts_the_item(media_type: str, lie: bytes) -> None:
    def liar(talk: int, _memory_mb: int) -> int:
        pipe = Pipe(talk)
        pipe.receive()
        if lie == _LIES["a message of a petabyte"]:
            os.write(talk, lie)  # nothing but its length
        else:
            pipe.send(lie)
        with contextlib.suppress(Exception):
            pipe.receive()
        return 0

    status = _end(handler_for(media_type), b"abc", liar, text=media_type == "text/plain")
    assert (os.WIFEXITED(status), os.WEXITSTATUS(status)) == (True, 70)
