"""Attacks on the storage layer's paths: links put where directories were, `..`, absolute paths (docs/security.md)."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recording import MemoryRecorder

from core.errors import SourceFileError, StorageFault
from core.records import FsyncPolicy
from core.storage import beneath
from core.storage.beneath import kernel_has_openat2, open_beneath
from core.storage.layer import Storage
from readers.errors import ExceptionCode

SECRET = b"only root may read this"


@pytest.fixture(params=["openat2", "by component"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each attack on the kernel's own way and on the fallback."""
    if request.param == "openat2" and not kernel_has_openat2():
        pytest.skip("this kernel has no openat2(2)")
    monkeypatch.setattr(beneath, "kernel_has_openat2", lambda: request.param == "openat2")


@pytest.fixture
def recorder() -> MemoryRecorder:
    return MemoryRecorder()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A source with `a/b/f`, a storage root with `jobs/items/f`, and a directory outside that no job may touch."""
    for inside, text in (("source/a/b", b"evidence"), ("store/jobs/items", b"child"), ("outside/b", SECRET)):
        (tmp_path / inside).mkdir(parents=True)
        (tmp_path / inside / "f").write_bytes(text)
    (tmp_path / "outside" / "f").write_bytes(SECRET)
    return tmp_path


@pytest.fixture
def storage(recorder: MemoryRecorder, place: Path) -> Iterator[Storage]:
    storage = Storage(recorder)
    storage.keep_below(bytes(place / "store"), own=True)
    storage.keep_below(bytes(place / "source"), hold=True)
    yield storage
    storage.let_go()


def swap(path: Path, to: Path) -> None:
    """What an attacker does who may write to the directory above."""
    path.rename(path.with_name(path.name + ".away"))
    path.symlink_to(to)


def outside_untouched(place: Path) -> bool:
    found = sorted(str(p.relative_to(place / "outside")) for p in (place / "outside").rglob("*"))
    return found == ["b", "b/f", "f"] and (place / "outside/b/f").read_bytes() == SECRET


def read(storage: Storage, path: Path) -> bytes:
    with storage.open(bytes(path)) as file:
        return file.readall()


READS: dict[str, Callable[[Storage, Path], object]] = {
    "open": lambda storage, place: read(storage, place / "source/a/b/f"),
    "stat": lambda storage, place: storage.stat(bytes(place / "source/a/b/f")),
    "scan": lambda storage, place: storage.scan(bytes(place / "source/a/b")),
}


@pytest.mark.parametrize("what", READS)
def test_a_directory_of_the_source_swapped_for_a_link_is_not_followed(
    storage: Storage, recorder: MemoryRecorder, place: Path, what: str
) -> None:
    """Between walk and expand: one item's exception that says why, one call record with the kernel's error."""
    swap(place / "source/a", place / "outside")
    with pytest.raises(SourceFileError) as caught:
        READS[what](storage, place)
    assert caught.value.code is ExceptionCode.UNREADABLE
    assert "a directory above it is a link now" in str(caught.value)
    assert [(r.op.label, r.error) for r in recorder.records] == [(what, errno.ELOOP)]


def test_the_last_component_swapped_is_a_link_like_any_other(storage: Storage, place: Path) -> None:
    """A file or a directory that has become a link since it was found: `symlink`, and nothing behind it is read."""
    swap(place / "source/a/b/f", place / "outside/f")
    with pytest.raises(SourceFileError) as caught:
        read(storage, place / "source/a/b/f")
    assert caught.value.code is ExceptionCode.SYMLINK
    swap(place / "source/a/b", place / "outside/b")
    with pytest.raises(SourceFileError) as caught:
        storage.scan(bytes(place / "source/a/b"))
    assert caught.value.code is ExceptionCode.SYMLINK
    assert os.path.stat.S_ISLNK(storage.stat(bytes(place / "source/a/b")).st_mode)  # type: ignore[attr-defined]


@pytest.mark.parametrize("relative", ["../outside/f", "a/../../outside/f", "a/b/../../../outside/f", "a/b/../b/f"])
def test_two_dots_are_refused(storage: Storage, place: Path, relative: str) -> None:
    path = bytes(place / "source") + b"/" + relative.encode()
    for call in (storage.open, storage.stat, storage.scan):
        with pytest.raises(SourceFileError) as caught:
            call(path)
        assert caught.value.code is ExceptionCode.UNREADABLE


@pytest.mark.parametrize("below", ["source", "store"])
def test_an_absolute_path_in_place_of_a_relative_one_is_refused(storage: Storage, place: Path, below: str) -> None:
    path = os.path.join(bytes(place / below), bytes(place / "outside/f"))
    with pytest.raises((SourceFileError, StorageFault), match="outside the job's source and storage"):
        storage.open(path)
    with pytest.raises(StorageFault):
        storage.create(path + b"2")
    assert outside_untouched(place)


def test_a_name_that_only_begins_like_the_root_is_outside(storage: Storage, place: Path) -> None:
    """`source2` is not below `source`."""
    (place / "source2").mkdir()
    (place / "source2/f").write_bytes(SECRET)
    with pytest.raises(SourceFileError):
        read(storage, place / "source2/f")


def _write(storage: Storage, place: Path) -> object:
    return storage.write_file(bytes(place / "store/jobs/items/new"), [b"x"])


def _private(storage: Storage, place: Path) -> object:
    return storage.write_file(bytes(place / "store/jobs/items/new"), [b"x"], private=True)


WRITES: dict[str, Callable[[Storage, Path], object]] = {
    "create": lambda storage, place: storage.create(bytes(place / "store/jobs/items/new")),
    "write": _write,
    "write private": _private,
    "mkdir": lambda storage, place: storage.mkdir(bytes(place / "store/jobs/items/ab/cd")),
    "rename away": lambda storage, place: storage.rename(bytes(place / "store/jobs/items/f"), bytes(place / "store/g")),
    "rename to": lambda storage, place: storage.rename(bytes(place / "store/h"), bytes(place / "store/jobs/items/f")),
    "remove": lambda storage, place: storage.remove(bytes(place / "store/jobs/items/f")),
    "remove tree": lambda storage, place: storage.remove_tree(bytes(place / "store/jobs/items")),
    "remove tree above": lambda storage, place: storage.remove_tree(bytes(place / "store/jobs/items/b")),
    "sync": lambda storage, place: storage.sync_tree(bytes(place / "store/jobs/items")),
    "read": lambda storage, place: storage.scan(bytes(place / "store/jobs/items")),
    "look": lambda storage, place: storage.stat(bytes(place / "store/jobs/items/f")),
}


@pytest.mark.parametrize("level", ["store/jobs", "store/jobs/items"])
@pytest.mark.parametrize("what", WRITES)
def test_a_directory_of_the_storage_root_replaced_by_a_link_is_a_fault(
    storage: Storage, place: Path, what: str, level: str
) -> None:
    (place / "outside/items").mkdir(exist_ok=True)
    (place / "store/h").write_bytes(b"h")
    shutil.rmtree(place / "outside/items")
    if level == "store/jobs":
        shutil.copytree(place / "outside/b", place / "elsewhere/items/b")
        shutil.copy(place / "outside/f", place / "elsewhere/items/f")
        swap(place / level, place / "elsewhere")
        there = place / "elsewhere/items"
    else:
        swap(place / level, place / "outside")
        there = place / "outside"
    before = sorted((p, p.is_file() and p.read_bytes()) for p in there.rglob("*"))
    with pytest.raises(StorageFault, match="restore the directory") as caught:
        WRITES[what](storage, place)
    assert "\n" not in str(caught.value)
    assert sorted((p, p.is_file() and p.read_bytes()) for p in there.rglob("*")) == before


def test_a_tree_is_removed_with_its_links_and_not_what_they_lead_to(storage: Storage, place: Path) -> None:
    (place / "store/jobs/items/away").symlink_to(place / "outside")
    storage.remove_tree(bytes(place / "store/jobs"))
    assert not (place / "store/jobs").exists()
    assert outside_untouched(place)


def test_the_root_may_be_a_link_and_is_held_once_it_was_identified(storage: Storage, place: Path) -> None:
    (place / "named").symlink_to("source")
    named = place / "named"
    storage.keep_below(bytes(named), hold=True)
    assert read(storage, named / "a/b/f") == b"evidence"
    identity = storage.root_identity(bytes(named))
    named.unlink()
    (place / "outside/a").symlink_to(".")
    named.symlink_to(place / "outside")
    assert read(storage, named / "a/b/f") == b"evidence"
    assert storage.root_identity(bytes(named)) != identity  # who asks is told, and decides


def test_everything_works_below_a_root_as_it_does_elsewhere(
    storage: Storage, recorder: MemoryRecorder, place: Path
) -> None:
    top = bytes(place / "new/store")
    storage.keep_below(top, own=True)
    storage.fsync = FsyncPolicy.FILE
    storage.write_file(top + b"/x/caf\xe9", [b"abc"])
    storage.fsync = FsyncPolicy.NONE
    storage.rename(top + b"/x/caf\xe9", top + b"/g")
    assert sorted(e.name for e in storage.scan(top)) == [b"g", b"x"]
    assert [e.name for e in storage.scan(bytes(place / "source"))] == [b"a"]
    assert storage.stat(top + b"/g").st_size == 3
    assert read(storage, place / "new/store/g") == b"abc"
    storage.sync_tree(top)
    recorder.records.clear()
    storage.stat(top)
    storage.remove(top + b"/g")
    storage.remove(top + b"/g", missing_ok=True)
    storage.mkdir(top + b"/x")
    storage.remove_tree(top + b"/x")
    assert [(r.op.label, r.error) for r in recorder.records] == [
        ("stat", 0),
        ("remove", 0),
        ("remove", errno.ENOENT),
        *(("mkdir", errno.EEXIST), ("stat", 0)),
        *(("scan", 0), ("remove", 0)),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.sampled_from([b"a", b"b", b"f", b"link", b"up", b"..", b".", b"", b"gone"]), max_size=6))
def test_no_path_leads_out(place: Path, parts: list[bytes]) -> None:
    for name, to in (("a/link", place / "outside"), ("a/up", Path("../.."))):
        if not (place / "source" / name).is_symlink():
            (place / "source" / name).symlink_to(to)
    root = os.open(place / "source", os.O_PATH)
    try:
        opened = open_beneath(root, b"/".join(parts) or b".", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    finally:
        os.close(root)
    real = os.readlink(f"/proc/self/fd/{opened}")
    os.close(opened)
    plain = os.path.normpath(os.path.join(place / "source", os.fsdecode(b"/".join(p for p in parts if p != b""))))
    assert real == plain
    assert Path(real) == place / "source" or (place / "source") in Path(real).parents


def test_descriptors_are_given_back(storage: Storage, place: Path) -> None:
    """Whatever fails, nothing stays open but the roots that are held, and these go too."""
    before = len(os.listdir("/proc/self/fd"))
    storage.root_identity(bytes(place / "source"))
    swap(place / "source/a", place / "outside")
    for _ in range(20):
        for call in READS.values():
            with pytest.raises(SourceFileError):
                call(storage, place)
        storage.stat(bytes(place / "store/jobs/items/f"))
        storage.scan(bytes(place / "store/jobs"))
    storage.let_go()
    assert len(os.listdir("/proc/self/fd")) == before
