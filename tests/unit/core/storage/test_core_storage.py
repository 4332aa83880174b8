"""core.storage.layer on a real file system: what it does, what it records, what its errors mean."""

import contextlib
import errno
import io
import os
import resource
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import MemoryRecorder

from core.errors import SourceFileError, StorageFault
from core.operations import Op
from core.records import FsyncPolicy
from core.storage import sync
from core.storage.files import WRITE_SIZE, gathered
from core.storage.layer import EntryKind, Storage
from core.storage.whole import naming_of, strays
from readers.errors import ExceptionCode


@pytest.fixture
def recorder() -> MemoryRecorder:
    return MemoryRecorder()


@pytest.fixture
def storage(recorder: MemoryRecorder) -> Storage:
    return Storage(recorder)


@pytest.fixture
def root(tmp_path: Path) -> bytes:
    return os.fsencode(tmp_path)


def ops(recorder: MemoryRecorder) -> list[str]:
    return [record.op.label + ("!" if record.error else "") for record in recorder.records]


def counts(recorder: MemoryRecorder) -> dict[str, int]:
    return dict(Counter(ops(recorder)))


def test_each_call_is_one_record(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    path = root + b"/f"
    with storage.create(path) as file:
        assert file.write(b"abc") == 3
        file.sync()
    with storage.open(path) as opened:
        assert opened.pread(2, 1) == b"bc"
        assert opened.read() == b"abc"
    storage.stat(path)
    storage.rename(path, root + b"/g")
    storage.scan(root)
    storage.remove(root + b"/g")
    storage.mkdir(root + b"/d")
    storage.space(root)
    found = recorder.records
    assert [(r.op.label, r.bytes) for r in found] == [
        *(("create", 0), ("write", 3), ("fsync", 0), ("close", 0)),
        *(("open", 0), ("read", 2), ("read", 3), ("close", 0)),
        *(("stat", 0), ("rename", 0), ("scan", 0), ("remove", 0), ("mkdir", 0), ("stat", 0)),
    ]
    assert all(r.error == 0 and r.duration_ns >= 0 for r in found)
    assert [r.start_ns for r in found] == sorted(r.start_ns for r in found)
    assert {r.path for r in found[:9]} == {path}
    assert [(r.op.label, r.argument) for r in found if r.argument] == [
        *(("open", 3), ("read", 1), ("stat", 3), ("scan", 1)),
    ]
    assert [(r.path, r.other) for r in found if r.other] == [(root + b"/g", path)]


def test_records_say_where_in_a_file_bytes_were_moved(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    with storage.create(root + b"/f") as file:
        file.write(b"abc")
        file.write(b"de")
    with storage.open(root + b"/f") as opened:
        assert opened.readinto(bytearray(2)) == 2
        assert opened.read(1) == b"c"
        opened.seek(4)
        assert opened.read() == b"e"
    moved = [(r.op.label, r.argument, r.bytes) for r in recorder.records if r.bytes]
    assert moved == [("write", 0, 3), ("write", 3, 2), ("read", 0, 2), ("read", 2, 1), ("read", 4, 1)]


def test_calls_go_to_another_recorder_from_then_on(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    second = MemoryRecorder()
    file = storage.create(root + b"/f")
    storage.record_to(second)
    file.close()
    storage.stat(root + b"/f")
    assert ([r.op.label for r in recorder.records], [r.op.label for r in second.records]) == (
        ["create", "close"],
        ["stat"],
    )


def test_entries_have_kinds_and_raw_names(storage: Storage, root: bytes) -> None:
    for name in (b"caf\xe9", b"f"):
        Path(os.fsdecode(root + b"/" + name)).touch()
    os.mkdir(root + b"/d")
    os.symlink(b"d", root + b"/link")
    os.symlink(b"loop", root + b"/loop")
    os.mkfifo(root + b"/fifo")
    assert {e.name: e.kind for e in storage.scan(root)} == {
        b"caf\xe9": EntryKind.FILE,
        b"f": EntryKind.FILE,
        b"d": EntryKind.DIRECTORY,
        b"link": EntryKind.LINK,
        b"loop": EntryKind.LINK,
        b"fifo": EntryKind.SPECIAL,
    }


def code_of(storage: Storage, path: bytes) -> tuple[ExceptionCode, int]:
    with pytest.raises(SourceFileError) as caught:
        storage.open(path)
    assert "\n" not in str(caught.value)
    return caught.value.code, caught.value.errno


def test_what_is_no_regular_file_is_refused_at_once(storage: Storage, root: bytes) -> None:
    os.mkfifo(root + b"/fifo")
    os.symlink(b"/etc/hostname", root + b"/link")
    os.symlink(b"loop", root + b"/loop")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener, contextlib.chdir(os.fsdecode(root)):
        listener.bind("s")  # relative: the path of a socket must be short
    assert code_of(storage, root + b"/fifo")[0] is ExceptionCode.SPECIAL_FILE
    assert code_of(storage, root + b"/s")[0] is ExceptionCode.SPECIAL_FILE
    assert code_of(storage, b"/dev/zero")[0] is ExceptionCode.SPECIAL_FILE
    assert code_of(storage, root + b"/link")[0] is ExceptionCode.SYMLINK
    assert code_of(storage, root + b"/loop") == (ExceptionCode.SYMLINK, errno.ELOOP)
    assert code_of(storage, root)[0] is ExceptionCode.UNREADABLE


def test_source_files_that_are_gone_or_closed(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    Path(os.fsdecode(root + b"/f")).write_bytes(b"x")
    assert code_of(storage, root + b"/gone") == (ExceptionCode.VANISHED, errno.ENOENT)
    assert code_of(storage, root + b"/f/below") == (ExceptionCode.VANISHED, errno.ENOTDIR)
    assert code_of(storage, root + b"/" + b"n" * 300) == (ExceptionCode.UNREADABLE, errno.ENAMETOOLONG)
    with pytest.raises(SourceFileError, match="vanished: cannot list"):
        storage.scan(root + b"/gone")
    with pytest.raises(SourceFileError, match="vanished: cannot look at"):
        storage.stat(root + b"/gone")
    assert [r.error for r in recorder.records] == [
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOENT,
    ]


def test_permission_denied_is_unreadable(storage: Storage, root: bytes) -> None:
    path = root + b"/f"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0))
    with _not_root():
        assert code_of(storage, path) == (ExceptionCode.UNREADABLE, errno.EACCES)


@contextlib.contextmanager
def _not_root() -> Iterator[None]:
    user = os.geteuid()
    if user == 0:  # root may read everything
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_over_the_size_limit_is_a_fault(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITE_SIZE + 5, limits[1]))
    try:
        with pytest.raises(StorageFault, match="ulimit -f") as caught:
            storage.write_file(root + b"/f", [bytes(2 * WRITE_SIZE)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert os.listdir(root) == []
    assert [(r.bytes, r.error) for r in recorder.records if r.op is Op.WRITE] == [
        (WRITE_SIZE, 0),
        (5, 0),
        (0, errno.EFBIG),
    ]


def test_a_root_that_is_gone_is_a_fault(storage: Storage, root: bytes) -> None:
    assert storage.root_identity(root) == (os.stat(root).st_dev, os.stat(root).st_ino)
    with pytest.raises(StorageFault, match=r"cannot reach .*; .*check that it is mounted") as caught:
        storage.root_identity(root + b"/gone")
    assert caught.value.errno == errno.ENOENT
    assert "resume" not in str(caught.value)  # that is for whoever knows which job, and is said once
    with pytest.raises(StorageFault):
        storage.space(root + b"/gone")


def test_reading_through_a_buffer_costs_few_calls(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    data = os.urandom(3_000_000)
    Path(os.fsdecode(root + b"/f")).write_bytes(data)
    raw = storage.open(root + b"/f")
    assert (raw.size, raw.mtime_ns) == (len(data), os.stat(root + b"/f").st_mtime_ns)
    with io.BufferedReader(raw, 1 << 20) as file:
        got = b"".join(iter(lambda: file.read(1000), b""))
        file.seek(-5, os.SEEK_END)
        assert file.read() == data[-5:]
        with pytest.raises(io.UnsupportedOperation):
            file.fileno()
    assert got == data
    reads = [r.bytes for r in recorder.records if r.op is Op.READ]
    assert sum(reads) == len(data) + 5
    assert len(reads) <= 6
    assert ops(recorder)[-1] == "close"


def test_short_reads_and_writes_are_continued(
    storage: Storage, recorder: MemoryRecorder, root: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may move fewer bytes than asked for; each call is a record of what it really moved."""
    real_write, real_pread = os.write, os.pread
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, bytes(data)[:4]))
    monkeypatch.setattr(os, "pread", lambda fd, size, offset: real_pread(fd, min(size, 3), offset))
    assert storage.write_file(root + b"/f", [b"0123456789"]) == 10
    with storage.open(root + b"/f") as file:
        assert file.read() == b"0123456789"
    assert [r.bytes for r in recorder.records if r.op is Op.WRITE] == [4, 4, 2]
    assert [r.bytes for r in recorder.records if r.op is Op.READ] == [3, 3, 3, 1]


def test_a_file_that_shrinks_while_it_is_read_ends(storage: Storage, root: bytes) -> None:
    """Fewer bytes than announced are no endless loop, and are not taken for the whole file."""
    Path(os.fsdecode(root + b"/f")).write_bytes(b"x" * 100)
    with storage.open(root + b"/f") as file:
        os.truncate(root + b"/f", 10)
        with pytest.raises(SourceFileError, match="ended after 10 of 100 bytes"):
            file.readall()


def test_a_written_file_appears_whole_or_not_at_all(storage: Storage, root: bytes) -> None:
    path = root + b"/a/b/f"
    assert storage.write_file(path, [b"old"]) == 3

    def chunks() -> Iterator[bytes]:
        yield b"x" * (WRITE_SIZE + 1)
        assert Path(os.fsdecode(path)).read_bytes() == b"old"
        raise KeyError("the parser failed")

    with pytest.raises(KeyError):
        storage.write_file(path, chunks())
    assert os.listdir(root + b"/a/b") == [b"f"]
    assert storage.write_file(path, [b"n", memoryview(b"ew"), bytearray(b"")]) == 3
    assert Path(os.fsdecode(path)).read_bytes() == b"new"
    assert storage.write_file(path, []) == 0
    assert os.listdir(root + b"/a/b") == [b"f"]


def test_directories_cost_no_call_for_each_file(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    for n in range(20):
        storage.write_file(root + b"/x/y/%d" % n, [b"1"])
    assert counts(recorder) == {"create!": 1, "mkdir!": 1, "mkdir": 2, "create": 20, "write": 20, "close": 20} | {
        "rename": 20
    }


def test_a_create_never_replaces(storage: Storage, root: bytes) -> None:
    storage.create(root + b"/f").close()
    with pytest.raises(StorageFault, match=r"cannot create .*/f: File exists; .*the other program that writes there"):
        storage.create(root + b"/f")


@given(st.lists(st.binary(max_size=50), max_size=30), st.integers(1, 20))
def test_gathering_keeps_the_bytes(chunks: list[bytes], size: int) -> None:
    """Gathered writes hold the same bytes in the same order, all but the last of one size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.storage.files.WRITE_SIZE", size)
        pieces = [bytes(piece) for piece in gathered(chunks)]
    assert b"".join(pieces) == b"".join(chunks)
    assert all(len(piece) == size for piece in pieces[:-1])
    assert all(0 < len(piece) <= size for piece in pieces[-1:])


def test_mkdir_and_remove(storage: Storage, root: bytes) -> None:
    storage.mkdir(root + b"/a/b/c")
    storage.mkdir(root + b"/a/b/c")
    with pytest.raises(StorageFault):
        storage.mkdir(root + b"/a", exist_ok=False)
    with pytest.raises(StorageFault):
        storage.mkdir(root + b"/n/m", parents=False)
    storage.create(root + b"/f").close()
    with pytest.raises(StorageFault):
        storage.mkdir(root + b"/f")
    storage.remove(root + b"/gone", missing_ok=True)
    with pytest.raises(StorageFault):
        storage.remove(root + b"/gone")


def test_remove_tree_does_not_follow_links(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    storage.write_file(root + b"/keep/f", [b"1"])
    storage.write_file(root + b"/job/a/b/f", [b"1"])
    os.symlink(root + b"/keep", root + b"/job/a/link")
    storage.remove_tree(root + b"/job")
    storage.remove_tree(root + b"/job")
    assert os.listdir(root) == [b"keep"]
    assert os.listdir(root + b"/keep") == [b"f"]
    assert counts(recorder)["remove"] == 5


def test_fsync_policies(root: bytes) -> None:
    """none: no fsync; file: each file and its directory at once; task: what was written, once, on request."""
    found: dict[str, int] = {}
    for policy in FsyncPolicy:
        recorder = MemoryRecorder()
        storage = Storage(recorder, policy)
        directory = root + b"/" + policy.value.encode()
        os.mkdir(directory)
        for n in range(3):
            storage.write_file(directory + b"/%d" % n, [b"1"])
        storage.write_file(directory + b"/removed", [b"1"])
        storage.remove(directory + b"/removed")
        before = counts(recorder).get("fsync", 0)
        os.unlink(directory + b"/2")  # by somebody else: it needs no fsync any more
        storage.sync_written()
        storage.sync_written()
        found[policy.value] = before
        found[policy.value + " on request"] = counts(recorder).get("fsync", 0) - before
        assert counts(recorder).get("open", 0) == counts(recorder).get("close", 0) - 4
    assert found == {
        "none": 0,
        "none on request": 0,
        "file": 8,  # four files, four times their directory
        "file on request": 0,
        "task": 0,
        "task on request": 3,  # two files that are there, one directory
    }


def test_sync_tree_is_recorded(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    storage.sync_tree(root)
    assert ops(recorder) == ["open", "fsync", "close"]
    with pytest.raises(StorageFault):
        storage.sync_tree(root + b"/gone")


def test_copy_in_publishes_a_local_file(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    data = os.urandom(WRITE_SIZE + 7)
    local = os.fsdecode(root) + "/local"
    Path(local).write_bytes(data)
    assert storage.copy_in(local, root + b"/pub/f") == len(data)
    assert Path(os.fsdecode(root + b"/pub/f")).read_bytes() == data
    assert [r.bytes for r in recorder.records if r.op is Op.WRITE] == [WRITE_SIZE, 7]
    assert "read" not in counts(recorder)
    with pytest.raises(StorageFault, match=r"scratch file .*/none"):
        storage.copy_in(os.fsdecode(root) + "/none", root + b"/pub/g")
    assert os.listdir(root + b"/pub") == [b"f"]


@pytest.mark.parametrize("policy", FsyncPolicy)
def test_null_storage_makes_every_call_and_keeps_the_name(policy: FsyncPolicy, root: bytes) -> None:
    data = os.urandom(WRITE_SIZE + 7)
    Path(os.fsdecode(root) + "/local").write_bytes(data)
    calls = []
    for discards in (False, True):
        recorder = MemoryRecorder()
        storage = Storage(recorder, policy)
        storage.discards = discards
        target = root + b"/%d/f" % discards
        assert storage.copy_in(root + b"/local", target) == len(data)
        storage.sync_written()
        calls.append([(r.op, r.bytes, r.error) for r in recorder.records if r.op is not Op.FSYNC])
    assert calls[0] == calls[1]
    assert os.stat(root + b"/0/f").st_size == len(data)
    assert (os.stat(target).st_size, os.stat(target).st_blocks) == (0, 0)
    storage.write_file(root + b"/kept", [data])  # what is read again is there
    assert os.stat(root + b"/kept").st_size == len(data)


def test_a_failing_close_fails(storage: Storage, recorder: MemoryRecorder, root: bytes) -> None:
    """On NFS a full filer shows at close; the file must not be taken for written."""
    file = storage.create(root + b"/f")
    os.close(file._fd)
    with pytest.raises(StorageFault):
        file.close()
    assert recorder.records[-1].error == errno.EBADF


@pytest.mark.parametrize("then", ["there", "removed", "replaced"])
def test_a_stale_file_is_its_own_trouble_where_its_name_leads_elsewhere(
    storage: Storage, root: bytes, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    def stale(*_: object) -> NoReturn:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    for name in (b"/f", b"/g"):
        storage.write_file(root + name, [name])
    with storage.open(root + b"/f") as file:
        if then == "removed":
            storage.remove(root + b"/f")
        elif then == "replaced":
            storage.rename(root + b"/g", root + b"/f")
        for call in ("pread", "preadv"):
            monkeypatch.setattr(os, call, stale)
        for read in (lambda: file.pread(1, 0), lambda: file.readinto(bytearray(1))):
            with pytest.raises(StorageFault if then == "there" else SourceFileError) as caught:
                read()
            assert caught.value.errno == errno.ESTALE  # type: ignore[attr-defined]
            assert getattr(caught.value, "code", None) in (None, ExceptionCode.VANISHED)


@pytest.mark.parametrize(("number", "reported"), [(errno.ENOENT, False), (errno.ESTALE, False), (errno.EIO, True)])
def test_a_file_that_others_took_away_is_closed_without_a_word(
    storage: Storage,
    recorder: MemoryRecorder,
    root: bytes,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    reported: bool,
) -> None:
    storage.write_file(root + b"/f", [b"x"])
    file, close = storage.open(root + b"/f"), os.close

    def failing(descriptor: int) -> None:
        close(descriptor)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched, pytest.raises(StorageFault) if reported else contextlib.nullcontext():
        patched.setattr(os, "close", failing)
        file.close()
    assert file.closed
    assert recorder.records[-1].error == number


def test_open_files_run_out(root: bytes) -> None:
    storage = Storage()
    storage.create(root + b"/f").close()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
    try:
        with pytest.raises(StorageFault, match="ulimit -n") as caught:
            held.extend(storage.open(root + b"/f") for _ in range(300))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in held:
            file.close()
    assert caught.value.errno == errno.EMFILE


def test_the_floor_is_never_made(tmp_path: Path) -> None:
    storage = Storage()
    root = os.fsencode(tmp_path)
    storage.floor = root + b"/jobs/1"
    with pytest.raises(StorageFault, match=r"/jobs/1 is missing from the storage .*check that it is mounted"):
        storage.write_file(root + b"/jobs/1/items/ab/f", [b"x"])
    assert os.listdir(root) == []
    os.makedirs(storage.floor)
    assert storage.write_file(root + b"/jobs/1/items/ab/f", [b"x"]) == 1


def test_this_machine_keeps_names(tmp_path: Path) -> None:
    assert naming_of(tmp_path).kept
    assert list(tmp_path.iterdir()) == []


def test_storage_that_lists_names_in_another_case_has_no_strays() -> None:
    known = {"VOL001/TEXT/0001/EDB1.txt", "VOL001/TEXT/0001/EDB2.txt"}
    assert strays({path.lower() for path in known}, known) == set()
    others = {"VOL001/TEXT/0001/edb1.txt", "VOL001/TEXT/0001/EDB2.txt.ab12.tmp"}
    assert strays(known | others, known) == others


_SECONDS = 60.0  # after which a call that waits for its caller would be one that its caller waits for


@pytest.fixture
def owner(recorder: MemoryRecorder, tmp_path: Path) -> Storage:
    owner = Storage(recorder)
    owner.keep_below(os.fsencode(tmp_path), own=True)
    return owner


def _fail(_fd: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_what_is_called_meanwhile_does_not_wait(
    owner: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = threading.Event()
    waited: list[bool] = []
    monkeypatch.setattr(sync, "syncfs", lambda _fd: waited.append(reported.wait(_SECONDS)))
    with owner.begin_sync(os.fsencode(tmp_path)):
        owner.stat(os.fsencode(tmp_path))
        reported.set()
    assert waited == [True]
    assert [(each.op.label, each.error) for each in recorder.records] == [
        ("open", 0),
        ("stat", 0),
        ("fsync", 0),
        ("close", 0),
    ]
    _, looked, synced, closed = recorder.records
    assert synced.start_ns <= looked.start_ns
    assert looked.start_ns + looked.duration_ns <= synced.start_ns + synced.duration_ns <= closed.start_ns


def test_one_that_fails_is_a_fault(
    owner: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end of the block, also where something is on its way up already: the kernel tells of it once. Its descriptor is closed."""
    monkeypatch.setattr(sync, "syncfs", _fail)
    with pytest.raises(StorageFault, match="sync"), owner.begin_sync(os.fsencode(tmp_path)):
        pass
    with (
        pytest.raises(StorageFault, match="sync") as fault,
        owner.begin_sync(os.fsencode(tmp_path)),
    ):
        raise ValueError("theirs")
    assert isinstance(fault.value.__cause__, ValueError)
    assert [(each.op.label, each.error) for each in recorder.records] == 2 * [
        ("open", 0),
        ("fsync", errno.EIO),
        ("close", 0),
    ]
    with pytest.raises(StorageFault):
        owner.begin_sync(os.fsencode(tmp_path / "gone"))


def test_no_descriptor_is_left_where_no_thread_can_be_made(
    owner: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(StorageFault, match="cannot start a thread"):
        owner.begin_sync(os.fsencode(tmp_path))
    assert [each.op.label for each in recorder.records] == ["open", "close"]
