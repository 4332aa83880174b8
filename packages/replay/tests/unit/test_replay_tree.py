"""The tree of a replay: as recorded, every byte written, within its directory, and gone afterwards."""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lived_traces import looked_at, nodes
from memory_traces import MemoryTrace

from core.errors import StorageFault, UsageError
from replay.plan import plan_replay
from replay.program import Program, Room, compile_replay
from replay.table import Layout
from replay.tree import Target, check_paths, check_room, drop_own, prepare_tree, remove_trees
from traces.model import NO_NODE, Node, NodeKind

PATHS = 2


@given(nodes(12), st.integers(1, 3), st.booleans())
def test_the_tree_is_as_recorded(tree: list[Node], clients: int, shared: bool) -> None:
    """Every node that was there, with its kind and size, where the clients will look for it; nothing else in the path."""
    trace = looked_at(tree)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        program = compile_replay(trace, plan_replay(trace.header, clients=clients, shared=shared), home / "program")
        target = made(program, home, 1)
        for clone in program.plan.clones:
            prefixes = target.prefixes(clone.number)
            with program.table(clone) as table:
                for number, node in enumerate(tree):
                    path = os.fsdecode(prefixes[table.places[number]] + table.relative(number))
                    assert os.path.lexists(path) is node.existed
                    assert os.path.isdir(path) is (node.existed and node.kind is NodeKind.DIRECTORY)
                    if node.existed and node.kind is NodeKind.FILE:
                        assert os.stat(path).st_size == node.size
        assert os.listdir(home / "path0") == ["edbench-replay-test"]
        assert_enough_room(program, target)
        remove_trees(target)
        assert os.listdir(home / "path0") == []


def made(program: Program, home: Path, paths: int) -> Target:
    target = Target(paths=tuple(home / f"path{k}" for k in range(paths)), replay_id="test")
    for path in target.paths:
        path.mkdir()
    for client in range(program.plan.clients):
        prepare_tree(program, target, client=client)
    return target


def assert_enough_room(program: Program, target: Target) -> None:
    """What `Program.rooms` says is enough for what is there."""
    for room, home in zip(program.rooms, target.homes(), strict=True):
        found = [Path(top, name) for top, directories, files in os.walk(home) for name in [*directories, *files]]
        inside = [path for path in found if path.parent != home]
        assert len(inside) <= room.inodes
        assert sum(path.stat().st_size for path in inside if path.is_file()) <= room.bytes


def one_file(size: int = 100_000, ratio: int = 500) -> MemoryTrace:
    root = Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)
    return looked_at([root, Node(0, NodeKind.FILE, True, size, ratio, 6)])


def compiled(trace: MemoryTrace, tmp_path: Path, clients: int = 1, seed: int = 0) -> Program:
    return compile_replay(trace, plan_replay(trace.header, clients=clients, seed=seed), tmp_path / "program")


@pytest.mark.parametrize("ratio", [0, 500, 1000])
def test_no_byte_is_left_out(tmp_path: Path, ratio: int) -> None:
    found = []
    for seed in (1, 1, 2):
        home = tmp_path / str(len(found))
        home.mkdir()
        target = made(compiled(one_file(3_000_000, ratio), home, seed=seed), home, 1)
        file = next(path for path in target.homes()[0].rglob("*") if path.is_file())
        assert file.stat().st_blocks * 512 >= file.stat().st_size == 3_000_000
        found.append(file.read_bytes())
    assert found[0] == found[1]
    assert (found[1] == found[2]) is (ratio == 0)


def test_several_paths_hold_what_is_theirs(tmp_path: Path) -> None:
    root = Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)
    tree = [root, *(Node(0, NodeKind.FILE, True, 10, 500, 6) for _ in range(4))]
    trace = looked_at(tree)
    program = compile_replay(trace, plan_replay(trace.header, clients=1, paths=PATHS), tmp_path / "program")
    target = made(program, tmp_path, PATHS)
    names = [sorted(p.name for p in home.rglob("*") if p.is_file()) for home in target.homes()]
    assert [len(found) for found in names] == [2, 2]
    layout = Layout(tree)
    assert sorted(name for found in names for name in found) == sorted(os.fsdecode(layout.name(k)) for k in range(1, 5))
    assert_enough_room(program, target)


def test_removal_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    target = made(compiled(one_file(), tmp_path), tmp_path, 1)
    (target.homes()[0] / "link").symlink_to(outside)
    (target.homes()[0] / "clone0" / "link").symlink_to(outside / "kept")
    remove_trees(target)
    assert os.listdir(target.paths[0]) == []
    target.homes()[0].symlink_to(outside)
    remove_trees(target)
    assert (outside / "kept").read_text() == "kept"


def test_a_link_in_place_of_the_replays_directory_is_refused(tmp_path: Path) -> None:
    program = compiled(one_file(), tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "path").mkdir()
    target = Target(paths=(tmp_path / "path",), replay_id="test")
    target.homes()[0].symlink_to(tmp_path / "outside")
    with pytest.raises(StorageFault, match="was not created by edbench"):
        prepare_tree(program, target, client=0)
    assert os.listdir(tmp_path / "outside") == []


def test_removal_of_a_deep_tree(tmp_path: Path) -> None:
    """Deeper than Python's stack."""
    target = Target(paths=(tmp_path,), replay_id="deep")
    here = os.getcwd()
    try:
        os.mkdir(target.homes()[0])
        os.chdir(target.homes()[0])
        for _ in range(sys.getrecursionlimit() + 10):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    remove_trees(target)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("identity", ["", "..", "a/b", "a.b", "x" * 65])
def test_an_id_that_would_lead_elsewhere_is_refused(identity: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        Target(paths=(Path("/p"),), replay_id=identity)


def test_paths_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    for path in (full, empty, full / "within"):
        path.mkdir()
    file = tmp_path / "file"
    file.write_text("")
    for paths, shows in (
        ([], "--path"),
        ([tmp_path / "missing"], "No such file"),
        ([file], "not a directory"),
        ([full], "not empty: it contains 'within'; give an empty directory, or --not-empty"),
        ([empty, empty], "twice"),
    ):
        with pytest.raises(UsageError, match=shows) as error:
            check_paths(paths)
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="is inside the other"):
        check_paths([full, full / "within"], not_empty=True)
    (empty / "lost+found").mkdir()  # an empty file system is empty
    check_paths([empty])
    check_paths([full], not_empty=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is denied to root")
def test_a_path_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="permission denied"):
        check_paths([tmp_path])


def test_room_is_checked_first(tmp_path: Path) -> None:
    program = compiled(one_file(), tmp_path)
    (tmp_path / "path").mkdir()
    check_room(program, [tmp_path / "path"])
    info = os.statvfs(tmp_path)
    for room, shows in (
        (Room(bytes=info.f_bavail * info.f_frsize, inodes=1), "GB are free"),
        (Room(bytes=1, inodes=info.f_favail + 1), "inodes"),
    ):
        if room.inodes > 1 and not info.f_files:
            continue
        kinds = {key: replace(kind, own=(room,)) for key, kind in program.kinds.items()}
        with pytest.raises(UsageError, match=shows) as error:
            check_room(replace(program, kinds=kinds), [tmp_path / "path"])
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="too long"):
        check_room(replace(program, longest=4090), [tmp_path / "path"])
    assert os.listdir(tmp_path / "path") == []


def test_the_caches_forget_what_was_written(tmp_path: Path) -> None:
    program = compiled(one_file(), tmp_path)
    target = made(program, tmp_path, 1)
    found = drop_own(program, target, client=0)
    assert (found.files, found.looked_at, found.bytes, found.refused, found.unknown) == (1, 1, 100_000, 0, 0)
    assert found.resident_after <= found.resident_before  # in memory itself nothing can go
