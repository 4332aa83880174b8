"""Logs of strace as traces: what each line means, and what cannot be kept is counted."""

import errno
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_traces import MemoryTrace
from trace_samples import everything

from core.errors import UsageError
from core.operations import Op
from replay.strace.importing import Imported, import_strace
from traces.model import NO_NODE, Call, Node, NodeKind


class Read:
    """A log that was imported."""

    def __init__(self, done: Imported, trace: MemoryTrace) -> None:
        self.done = done
        self.trace = trace
        self.calls = [call for stream in trace.streams for call in stream]

    def fields_of(self, *fields: str) -> list[tuple[object, ...]]:
        """The op of each call and these fields of it."""
        return [(call.op.label, *(getattr(call, field) for field in fields)) for call in self.calls]

    @property
    def ops(self) -> list[str]:
        return [call.op.label for call in self.calls]

    def of(self, process: int) -> list[Call]:
        """The calls of one process."""
        workers = [stream.worker for stream in self.trace.header.streams]
        return list(self.trace.streams[workers.index(f"process {process}")])

    def node(self, number: int) -> Node:
        return self.trace.nodes[self.calls[number].node]


def read(tmp_path: Path, *lines: str, under: str = "/data", start: str | None = "/data") -> Read:
    """Lines without their times, which get one every millisecond; `{pid}:` in front is another process than 1."""
    log = tmp_path / "log"
    text = ""
    for number, line in enumerate(lines):
        found = re.match(r"(\d+): ", line)
        pid, rest = (found[1], line[found.end() :]) if found else ("1", line)
        timed = rest if rest.endswith(">") or rest.startswith(("+++", "---")) else f"{rest} <0.000010>"
        text += f"{pid} 1700000000.{number:03}000 {timed}\n"
    log.write_text(text, encoding="latin-1")
    done = import_strace(
        log, tmp_path / "t", under=[Path(under)], start_directory=None if start is None else Path(start)
    )
    return Read(done, everything(tmp_path / "t"))


def test_a_file_that_is_read(tmp_path: Path) -> None:
    """The fstat after the open is part of it; reads have their offsets; times are nanoseconds since the first line."""
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "a/b", O_RDONLY|O_CLOEXEC) = 3 <0.000020>',
        'newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=100, ...}, AT_EMPTY_PATH) = 0 <0.000005>',
        'read(3, "x, \\"y\\") = 7"..., 60) = 60',
        'pread64(3, "xx"..., 10, 90)  = 10',
        'read(3, "xx"..., 60)         = 40',
        "lseek(3, 5, SEEK_SET)        = 5",
        'readv(3, [{iov_base="abc", iov_len=2}, {iov_base="d", iov_len=1}], 2) = 3',
        'newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=100, ...}, AT_EMPTY_PATH) = 0',
        "close(3)                     = 0",
    )
    assert found.fields_of("start_ns", "duration_ns", "bytes", "argument") == [
        ("open", 0, 25_000, 0, 100),
        ("read", 2_000_000, 10_000, 60, 0),
        ("read", 3_000_000, 10_000, 10, 90),
        ("read", 4_000_000, 10_000, 40, 60),
        ("read", 6_000_000, 10_000, 3, 5),
        ("stat", 7_000_000, 10_000, 0, 100),
        ("close", 8_000_000, 10_000, 0, 0),
    ]
    assert found.node(0) == Node(1, NodeKind.FILE, True, 100, 1000, 1)
    assert found.trace.nodes[1] == Node(0, NodeKind.DIRECTORY, True, 0, 1000, 1)
    assert found.trace.nodes[0] == Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)


def test_files_that_are_made_renamed_and_removed(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'mkdir("d", 0777)            = 0',
        'openat(AT_FDCWD, "d/x.tmp", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4',
        'write(4, "abc", 3)          = 3',
        'write(4, "def", 3)          = 3',
        'pwrite64(4, "z", 1, 100)    = 1',
        "fsync(4)                    = 0",
        "close(4)                    = 0",
        'rename("d/x.tmp", "d/x")    = 0',
        'unlink("/data/d/x")         = 0',
        'rmdir("d")                  = 0',
    )
    assert found.fields_of("bytes", "argument") == [
        ("mkdir", 0, 0), ("create", 0, 0), ("write", 3, 0), ("write", 3, 3), ("write", 1, 100), ("fsync", 0, 0),
        ("close", 0, 0), ("rename", 0, 0), ("remove", 0, 0), ("remove", 0, 0),
    ]  # fmt: skip
    assert [node.existed for node in found.trace.nodes] == [True, False, False, False]
    renamed = found.calls[7]
    assert (renamed.other, renamed.node) == (found.calls[1].node, found.calls[8].node)


def test_failures_are_kept_with_their_errno(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "none", O_RDONLY) = -1 ENOENT (No such file or directory)',
        'stat("later", 0x7ffd)           = -1 ENOENT (No such file or directory)',
        'openat(AT_FDCWD, "later", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3',
        "close(3)                        = 0",
        'mkdir("there", 0777)            = -1 EEXIST (File exists)',
        'openat(AT_FDCWD, "shut", O_RDONLY) = -1 EACCES (Permission denied)',
    )
    assert found.fields_of("error") == [
        ("open", errno.ENOENT), ("stat", errno.ENOENT), ("create", 0), ("close", 0), ("mkdir", errno.EEXIST),
        ("open", errno.EACCES),
    ]  # fmt: skip
    assert [(node.kind, node.existed) for node in found.trace.nodes[1:4]] == [
        (NodeKind.MISSING, False), (NodeKind.FILE, False), (NodeKind.FILE, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "size", "ops"),
    [
        ("O_WRONLY|O_CREAT|O_EXCL", 0, ["create", "write", "close"]),
        ("O_WRONLY|O_CREAT|O_TRUNC", 0, ["create", "write", "close"]),
        ("O_WRONLY|O_CREAT|O_APPEND", 0, ["create", "write", "close"]),
        ("O_WRONLY|O_CREAT|O_APPEND", 50, ["open", "write", "close"]),
        ("O_WRONLY|O_TRUNC", 0, ["remove", "create", "write", "close"]),
        ("O_RDWR", 50, ["open", "write", "close"]),
    ],
)
def test_what_an_open_to_write_is(flags: str, size: int, ops: list[str], tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f'openat(AT_FDCWD, "f", {flags}, 0666) = 3',
        f'newfstatat(3, "", {{st_mode=S_IFREG|0644, st_size={size}, ...}}, AT_EMPTY_PATH) = 0',
        'write(3, "abc", 3) = 3',
        "close(3) = 0",
    )
    assert found.ops == ops
    assert found.calls[-2].argument == (size if "O_APPEND" in flags else 0)
    assert found.trace.nodes[1].existed == (ops[0] in ("open", "remove"))
    assert found.trace.nodes[1].size == size


def test_a_directory_is_scanned_once_however_many_calls_it_takes(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'openat(AT_FDCWD, ".", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3',
        'newfstatat(3, "", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_EMPTY_PATH) = 0',
        "getdents64(3, 0x55 /* 5 entries */, 32768) = 160",
        "getdents64(3, 0x55 /* 2 entries */, 32768) = 64",
        "getdents64(3, 0x55 /* 0 entries */, 32768) = 0",
        "close(3) = 0",
        'open("d", O_RDONLY|O_DIRECTORY) = 3',
        'newfstatat(3, "f", {st_mode=S_IFREG|0644, st_size=7, ...}, 0) = 0',
        "getdents64(3, 0x55 /* 3 entries */, 32768) = 80",
        "close(3) = 0",
    )
    assert found.fields_of("argument", "duration_ns") == [
        ("scan", 5, 60_000), ("stat", 0, 10_000), ("stat", 7, 10_000), ("scan", 1, 20_000)
    ]  # fmt: skip
    assert found.node(2) == Node(found.calls[1].node, NodeKind.FILE, True, 7, 1000, 1)


def test_descriptors_are_followed(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "a", O_RDONLY|O_CLOEXEC) = 3',
        'openat(AT_FDCWD, "b", O_RDONLY) = 4',
        "dup2(4, 9) = 9",
        "close(4) = 0",
        "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 2",
        '2: read(9, "xyz", 3) = 3',
        '2: execve("/bin/x", ["x"], 0x7f /* 1 var */) = 0',
        "close_range(5, 4294967295, 0) = 0",
        "2: +++ exited with 0 +++",
        "close(3) = 0",
        "+++ exited with 0 +++",
    )
    first, second = ([(call.op.label, call.node) for call in found.of(process)] for process in (1, 2))
    assert first == [("open", 1), ("open", 2), ("close", 1)]
    assert second == [("read", 2), ("close", 2)]


def test_threads_share_what_forks_copy(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88 <unfinished ...>",
        '2: openat(AT_FDCWD, "f", O_RDONLY) = 5',
        '2: chdir("sub") = 0',
        "<... clone3 resumed> => {parent_tid=[2]}, 88) = 2",
        'read(5, "ab", 2) = 2',
        'stat("g", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0',
        "close(5) = 0",
    )
    assert found.done.unknown_descriptors == 0
    assert [call.op.label for call in found.of(2)] == ["open"]
    assert [call.op.label for call in found.of(1)] == ["read", "stat", "close"]
    stat = found.of(1)[1]
    assert found.trace.nodes[found.trace.nodes[stat.node].parent].name_bytes == len("sub")


def test_calls_in_two_halves_begin_when_they_began(tmp_path: Path) -> None:
    """The time of the first half, the duration of the second."""
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "f", O_RDONLY <unfinished ...>',
        '2: stat("/data/g",  <unfinished ...>',
        "<... openat resumed>) = 3 <0.000900>",
        "2: <... stat resumed>{st_mode=S_IFREG|0644, st_size=9, ...}) = 0 <0.002000>",
        "--- SIGCHLD {si_signo=SIGCHLD, si_pid=2} ---",
        "read(3,  <unfinished ...>",
    )
    assert [(call.op.label, call.start_ns, call.duration_ns) for call in found.of(1)[:1]] == [("open", 0, 900_000)]
    assert [(call.op.label, call.start_ns, call.duration_ns) for call in found.of(2)] == [
        ("stat", 1_000_000, 2_000_000)
    ]
    assert found.done.never_ended == 1


def test_paths_with_directories_of_their_own(tmp_path: Path) -> None:
    """dirfd, chdir, fchdir, getcwd, `..`, and the paths of -y where the log shows no opening."""
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "/data/d", O_RDONLY|O_DIRECTORY) = 3',
        'openat(3, "../e//f", O_RDONLY) = 4',
        "fchdir(3) = 0",
        'stat("h", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0',
        'getcwd("/data/k", 4096) = 8',
        'stat("l", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0',
        'read(7</data/n\\74o>, "x", 1) = 1',
        'unlinkat(8</data/d>, "p", 0) = 0',
        'read(0</dev/pts/1>, "x", 1) = 1',
        'read(1<pipe:[77]>, "x", 1) = 1',
    )

    def path(number: int) -> list[int]:
        out = []
        while number != NO_NODE:
            out.insert(0, found.trace.nodes[number].name_bytes)
            number = found.trace.nodes[number].parent
        return out

    shapes = [(call.op.label, path(call.node)) for call in found.calls]
    assert shapes == [
        ("stat", [0, 1]), ("open", [0, 1, 1]), ("stat", [0, 1, 1]), ("stat", [0, 1, 1]), ("read", [0, 3]),
        ("remove", [0, 1, 1]), ("close", [0, 1, 1]), ("close", [0, 3]),
    ]  # fmt: skip
    assert found.calls[1].node != found.calls[2].node != found.calls[3].node
    assert found.done.elsewhere == 2


def test_files_in_a_renamed_directory_were_in_the_old_one(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'stat("old", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0',
        'rename("old", "new") = 0',
        'stat("new/f", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0',
        'openat(AT_FDCWD, "new/g", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3',
    )
    nodes = found.trace.nodes
    old, new = found.calls[1].other, found.calls[1].node
    assert (nodes[old].existed, nodes[new].existed) == (True, False)
    assert [(n.kind, n.existed, n.size) for n in nodes if n.parent == old] == [(NodeKind.FILE, True, 9)]
    assert [(n.kind, n.existed) for n in nodes if n.parent == new] == [(NodeKind.FILE, False)] * 2


def test_what_a_trace_has_no_op_for_is_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "1 1700000000.000000 openat(AT_FDCWD, \"/data/f\", O_RDWR) = 3 <0.000010>\n"
        "1 1700000000.001000 ftruncate(3, 10) = 0 <0.000010>\n"
        "1 1700000000.002000 mmap(NULL, 100, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f <0.000010>\n"
        "1 1700000000.003000 mmap(NULL, 100, PROT_READ, MAP_ANONYMOUS, -1, 0) = 0x7f <0.000010>\n"
        "1 1700000000.004000 chmod(\"/data/f\", 0600) = 0 <0.000010>\n"
        "1 1700000000.005000 frobnicate(3) = 0 <0.000010>\n"
        "1 1700000000.006000 pipe2([4, 5], 0) = 0 <0.000010>\n"
        "1 1700000000.007000 write(5, \"x\", 1) = 1 <0.000010>\n"
        "1 1700000000.008000 read(77, \"x\", 1) = 1 <0.000010>\n"
        "what the program printed\n"
        "1 1700000000.009000 <... read resumed>\"x\", 1) = 1 <0.000010>\n"
        "1 1700000000.010000 exit_group(0) = ?\n"
        "1 1700000000.0"
    )  # fmt: skip
    done = import_strace(log, tmp_path / "t", under=[Path("/data")])
    assert dict(done.not_carried) == {"ftruncate": 1, "mmap": 1, "chmod": 1}
    assert dict(done.other) == {"mmap": 1, "frobnicate": 1}
    assert (done.elsewhere, done.unknown_descriptors, done.malformed, done.log_calls) == (2, 1, 3, 10)
    assert done.first_malformed == "log, line 10: what the program printed"
    assert done.header.calls == 2


_STAT = "{st_mode=S_IFREG|0644, st_size=5, ...}"


@pytest.mark.parametrize(
    ("line", "ops"),
    [
        ('creat("n", 0644) = 4', ["create"]),
        ('openat2(AT_FDCWD, "n", {flags=O_WRONLY|O_CREAT|O_EXCL, mode=0644, resolve=0}, 24) = 4', ["create"]),
        ('openat(AT_FDCWD, "n", O_RDONLY|O_PATH) = 4', ["stat"]),
        (f'lstat("n", {_STAT}) = 0', ["stat"]),
        ('statx(AT_FDCWD, "n", 0, STATX_ALL, {stx_mask=1, stx_mode=S_IFREG|0644, stx_size=5, ...}) = 0', ["stat"]),
        ('faccessat2(AT_FDCWD, "n", R_OK, 0) = 0', ["stat"]),
        ('readlinkat(AT_FDCWD, "n", 0x7f, 64) = -1 EINVAL (Invalid argument)', ["stat"]),
        (f"fstat(3, {_STAT}) = 0", ["stat"]),
        ('preadv2(3, [{iov_base="abcde", iov_len=5}], 1, 0, 0) = 5', ["read"]),
        ('pwritev(3, [{iov_base="abcde", iov_len=5}], 1, 7) = 5', ["write"]),
        ("copy_file_range(3, NULL, 3, [100], 5, 0) = 5", ["read", "write"]),
        ("sendfile(3, 3, [0] => [5], 5) = 5", ["read", "write"]),
        ("fdatasync(3) = 0", ["fsync"]),
        ("syncfs(3) = 0", ["fsync"]),
        ('mkdirat(AT_FDCWD, "n", 0777) = 0', ["mkdir"]),
        ('unlinkat(AT_FDCWD, "n", AT_REMOVEDIR) = 0', ["remove"]),
        ('renameat2(AT_FDCWD, "n", AT_FDCWD, "m", RENAME_NOREPLACE) = 0', ["rename"]),
        ('renameat2(AT_FDCWD, "n", AT_FDCWD, "m", RENAME_EXCHANGE) = 0', []),
        ('linkat(AT_FDCWD, "f", AT_FDCWD, "n", 0) = 0', ["create", "close"]),
        ('symlink("f", "n") = 0', ["create", "close"]),
        ("read(3, 0x7f, 5) = -1 EIO (Input/output error)", ["read"]),
        ("read(3, 0x7f, 5) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", []),
        ("close(99) = -1 EBADF (Bad file descriptor)", []),
        ("dup3(9, 3, O_CLOEXEC) = 3", ["close"]),
    ],
)
def test_each_call_has_its_op(line: str, ops: list[str], tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'openat(AT_FDCWD, "f", O_RDWR) = 3',
        'read(3, "a", 1) = 1',
        line,
        'stat("/data/last", 0) = -1 ENOENT (x)',
    )
    last = next(n for n, call in enumerate(found.calls) if call.op is Op.STAT and call.error == errno.ENOENT)
    assert found.ops[2:last] == ops
    assert (found.done.malformed, found.done.unknown_descriptors) == (0, 0)


LOGS = Path(__file__).parents[1] / "support" / "strace_logs"
DEMO = Path("/tmp/demo")  # where the logs kept there were made


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("", "-ttt"),
        ("nothing of the kind\n", "-ttt"),
        ("12:30:01 openat(AT_FDCWD, \"f\", O_RDONLY) = 3 <0.000010>\n", "-ttt"),
        ("1700000000.000001 openat(AT_FDCWD, \"/data/f\", O_RDONLY) = 3\n", "strace -T"),
        ("1700000000.000001 getpid() = 3 <0.000010>\n", "--under"),
    ],
)  # fmt: skip
def test_other_logs_are_refused(text: str, shows: str, tmp_path: Path) -> None:
    """In one line that says how to make one."""
    (tmp_path / "log").write_text(text)
    with pytest.raises(UsageError, match=re.escape(shows)):
        import_strace(tmp_path / "log", tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_clock_that_is_set_back_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "log"
    times = (5, 7, 6)
    log.write_text("".join(f'1 1700000000.00000{at} stat("/f", 0x7f) = -1 ENOENT (x) <0.000001>\n' for at in times))
    done = import_strace(log, tmp_path / "t")
    assert done.steps_back == 1
    assert [call.start_ns for call in everything(tmp_path / "t").streams[0]] == [0, 2000, 2000]


@pytest.mark.parametrize("log", ["shell.log", "terminal.log"])
def test_a_shell_script_as_strace_saw_it(log: str, tmp_path: Path) -> None:
    done = import_strace(LOGS / log, tmp_path / "t", under=[DEMO], start_directory=DEMO)
    trace = everything(tmp_path / "t")
    calls = [call for stream in trace.streams for call in stream]
    ops = [call.op for call in calls]
    assert {op.label: ops.count(op) for op in Op} == {
        "scan": 3, "stat": 9, "open": 8, "read": 14, "create": 4, "write": 7, "fsync": 1, "close": 11, "rename": 1,
        "remove": 2, "mkdir": 1,
    }  # fmt: skip
    assert sum(call.bytes for call in calls if call.op is Op.WRITE) == 1113 + 1092 + 1092 + 100
    assert sorted(n.size for n in trace.nodes if n.kind == NodeKind.FILE and n.existed) == [21, 284, 1092]
    assert (done.malformed, done.never_ended, done.steps_back, len(trace.streams)) == (0, 0, 0, 11)
    _is_possible(trace)


def test_threads_as_strace_saw_them(tmp_path: Path) -> None:
    done = import_strace(LOGS / "threads-y.log", tmp_path / "t", under=[DEMO / "w"])
    trace = everything(tmp_path / "t")
    expected = ["create", *["write"] * 4, "read", "fsync", "close", "rename", "stat", "remove"]
    assert [[call.op.label for call in stream] for stream in trace.streams[1:]] == [expected] * 3
    assert dict(done.not_carried) == {"ftruncate": 3}
    assert all(not node.existed for node in trace.nodes if node.kind == NodeKind.FILE)
    _is_possible(trace)


@settings(max_examples=30)
@given(st.data())
def test_a_damaged_log_is_read_as_far_as_it_makes_sense(data: st.DataObject) -> None:
    lines = (
        (LOGS / data.draw(st.sampled_from(("shell.log", "terminal.log", "threads-y.log")))).read_bytes().splitlines()
    )
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        cut, rest = data.draw(st.integers(0, len(lines[at]))), data.draw(st.binary(max_size=6))
        lines[at : at + data.draw(st.integers(0, 3))] = [lines[at][:cut] + rest.replace(b"\n", b"9")]
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "log").write_bytes(b"\n".join(lines))
        import_strace(Path(scratch, "log"), Path(scratch, "t"), start_directory=DEMO)
        _is_possible(everything(Path(scratch, "t")))


def test_a_path_may_be_deep(tmp_path: Path) -> None:
    """As deep as Linux lets it be."""
    deep = "/a" * 2000
    line = f'1 1700000000.000000 stat("{deep}", {{st_mode=S_IFREG|0644, st_size=9, ...}}) = 0 <0.000010>\n'
    (tmp_path / "log").write_text(line)
    import_strace(tmp_path / "log", tmp_path / "t")
    nodes = everything(tmp_path / "t").nodes
    assert len(nodes) == 2001
    assert all(node.existed for node in nodes)


def _is_possible(trace: MemoryTrace) -> None:
    """Nothing is there before in a directory that is not, and a node's parent stands before it."""
    for number, node in enumerate(trace.nodes):
        assert node.parent < number
        assert not node.existed or node.parent == NO_NODE or trace.nodes[node.parent].existed
