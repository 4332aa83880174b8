"""How a shard's segments get to the filer."""

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from index_shards import matching
from recording import MemoryRecorder

from core.errors import StorageFault
from core.operations import NullRecorder, Op
from core.settings import INDEX_ENGINES
from core.storage.layer import Storage
from search import tantivy_engine, whoosh_engine
from search.engine import META, IndexDocument, open_reader
from search.publisher import FULL_SEGMENTS, KEPT_OPEN, OpenShard, OpenShards

JOB = uuid.UUID(int=1)


class _Noting(Storage):
    """Notes what is published and removed, in order."""

    def __init__(self) -> None:
        super().__init__(NullRecorder())
        self.notes: list[tuple[str, str]] = []
        self.fail_at = ""

    def copy_in(self, local_path: str | bytes, path: bytes, alive: Callable[[], None] | None = None) -> int:
        self._note("copy", path)
        return super().copy_in(local_path, path, alive)

    def remove(self, path: bytes, *, missing_ok: bool = False) -> None:
        self._note("remove", path)
        super().remove(path, missing_ok=missing_ok)

    def _note(self, what: str, path: bytes) -> None:
        name = os.path.basename(path).decode()
        if self.fail_at and self.fail_at in f"{what} {name}":
            self.fail_at = ""
            raise StorageFault("no space")
        self.notes.append((what, name))


@pytest.fixture
def storage() -> _Noting:
    return _Noting()


@pytest.fixture(params=INDEX_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: what they publish obeys the same rules."""
    return str(request.param)


def _add(shard: OpenShard, count: int = 1) -> None:
    for _ in range(count):
        shard.add(IndexDocument(item=uuid.uuid4(), owner="1:1", body="common words"))


def _published(root: Path, shard: OpenShard) -> set[str]:
    return set(os.listdir(root / shard.location.decode()))


def _size(root: Path, shard: OpenShard) -> int:
    return sum(f.stat().st_size for f in (root / shard.location.decode()).iterdir())


def _count(root: Path, shard: OpenShard) -> int:
    view = root / "views" / uuid.uuid4().hex
    return matching(open_reader(shard.engine, root / shard.location.decode(), view), "common")


def test_only_new_files_are_copied_and_the_meta_goes_last(tmp_path: Path, engine: str, storage: _Noting) -> None:
    shard = OpenShards(tmp_path / "scratch").of(JOB, engine)
    _add(shard)
    row, written = shard.publish(storage, bytes(tmp_path))
    first, storage.notes = storage.notes, []
    assert first[-1] == ("copy", "meta.json")
    assert {name for _, name in first} == _published(tmp_path, shard)
    assert written == row.size == _size(tmp_path, shard)
    assert (row.documents, row.location, row.id) == (1, shard.location, shard.id)
    _add(shard, 2)
    row, written = shard.publish(storage, bytes(tmp_path))
    assert storage.notes[-1] == ("copy", "meta.json")
    again = {name for what, name in storage.notes if what == "copy"}
    assert again & {name for _, name in first} == {"meta.json"}
    assert row.documents == 3
    assert written < row.size == _size(tmp_path, shard)
    assert _count(tmp_path, shard) == 3
    assert not [n for n in _published(tmp_path, shard) if "lock" in n or n.startswith(".") or n.endswith(".tmp")]
    shard.close()


def test_what_is_published_stays_as_it_is(tmp_path: Path, engine: str, storage: _Noting) -> None:
    """However often a slot publishes, nothing but the meta file is written twice and nothing is removed; a shard whose
    meta file names many segments is gone on with no more."""
    shards = OpenShards(tmp_path / "scratch")
    shard, written = shards.of(JOB, engine), 0
    for publication in range(FULL_SEGMENTS):
        assert shards.of(JOB, engine) is shard
        _add(shard)
        row, more = shard.publish(storage, bytes(tmp_path))
        written += more
        assert row.documents == publication + 1
    assert "remove" not in {what for what, _ in storage.notes}
    copied = [name for _, name in storage.notes if name != META]
    assert len(copied) == len(set(copied))
    assert set(copied) | {META} == _published(tmp_path, shard)
    assert _count(tmp_path, shard) == FULL_SEGMENTS
    assert shards.of(JOB, engine).id != shard.id
    shards.close()


def test_more_than_fits_into_the_writers_memory_is_one_publication(
    tmp_path: Path, storage: _Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tantivy_engine, "HEAP_BYTES", 15_000_000)  # the least that the engine takes
    shard = OpenShards(tmp_path / "scratch").of(JOB, "tantivy")
    for part in range(56):
        body = " ".join(f"w{part}x{number}" for number in range(10_000))
        shard.add(IndexDocument(item=uuid.uuid4(), owner="1:1", body=f"common {body}"))
    row, written = shard.publish(storage, bytes(tmp_path))
    assert len(shard.segments) < 8
    assert written == row.size == _size(tmp_path, shard)
    assert _count(tmp_path, shard) == row.documents == 56
    shard.close()


@pytest.mark.parametrize("fail_at", ["copy meta.json", "copy "])
def test_a_publication_that_broke_off_shows_in_no_reader(
    tmp_path: Path, engine: str, storage: _Noting, fail_at: str
) -> None:
    shards = OpenShards(tmp_path / "scratch")
    shard = shards.of(JOB, engine)
    _add(shard, 2)
    shard.publish(storage, bytes(tmp_path))
    _add(shard)
    storage.fail_at = fail_at
    with pytest.raises(StorageFault):
        shard.publish(storage, bytes(tmp_path))
    shards.abandon(JOB)
    assert _count(tmp_path, shard) == 2
    other = shards.of(JOB, engine)
    _add(other)
    row, _ = other.publish(storage, bytes(tmp_path))
    assert (row.documents, row.first, _count(tmp_path, other)) == (1, True, 1)
    shards.close()


def test_publication_goes_through_recorded_calls(tmp_path: Path, engine: str) -> None:
    recorder = MemoryRecorder()
    shard = OpenShards(tmp_path / "scratch").of(JOB, engine)
    _add(shard)
    _, written = shard.publish(Storage(recorder), bytes(tmp_path))
    assert sum(r.bytes for r in recorder.records if r.op is Op.WRITE) == written
    assert sum(r.op is Op.CREATE and not r.error for r in recorder.records) == len(_published(tmp_path, shard))
    shard.close()


def test_a_closed_shard_is_never_reopened(tmp_path: Path, engine: str, storage: _Noting) -> None:
    shards = OpenShards(tmp_path / "scratch")
    first = shards.of(JOB, engine)
    assert shards.of(JOB, engine) is first
    _add(first)
    first.publish(Storage(), bytes(tmp_path))
    assert not first.local.exists()
    for n in range(KEPT_OPEN):
        shards.of(uuid.UUID(int=100 + n), engine)
    second = shards.of(JOB, engine)
    assert second.id != first.id
    assert second.location != first.location
    shards.close()
    assert list((tmp_path / "scratch" / "shards").iterdir()) == []


def test_abandoned_documents_are_not_published(tmp_path: Path, engine: str, storage: _Noting) -> None:
    """What a failed task added does not ride along, and its shard, whose files phase finalise may take away, is not gone
    on with; a job without a shard is no trouble."""
    shards = OpenShards(tmp_path / "scratch")
    shards.abandon(JOB)
    _add(shards.of(JOB, engine), 5)
    lost, _ = shards.of(JOB, engine).publish(storage, bytes(tmp_path))
    shards.abandon(JOB)
    _add(shards.of(JOB, engine))
    row, _ = shards.of(JOB, engine).publish(storage, bytes(tmp_path))
    assert row.id != lost.id
    assert row.documents == 1
    assert row.first
    assert not shards.of(JOB, engine).publish(storage, bytes(tmp_path))[0].first
    shards.close()


def test_a_shard_that_is_published_again_while_it_is_opened(
    tmp_path: Path, engine: str, storage: _Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader has one state or the other: here the files of the first are gone when it comes to open them (a slot of an
    earlier version removed what it had merged)."""
    shards = OpenShards(tmp_path / "scratch")
    shard = shards.of(JOB, engine)
    _add(shard)
    shard.publish(storage, bytes(tmp_path))
    place = tmp_path / shard.location.decode()
    other = shards.of(uuid.UUID(int=2), engine)
    _add(other, 3)
    other.publish(storage, bytes(tmp_path))
    module, name = {"tantivy": (os, "listdir"), "whoosh": (whoosh_engine, "_reader")}[engine]
    real, swaps = getattr(module, name), [place]

    def published_again() -> None:
        for file in swaps.pop().iterdir():
            file.unlink()
        for file in (tmp_path / other.location.decode()).iterdir():
            shutil.copy(file, place)

    def meanwhile(*args: object) -> object:
        found = real(*args) if engine == "tantivy" else None
        if swaps:
            published_again()
        return real(*args) if found is None else found

    monkeypatch.setattr(module, name, meanwhile)
    assert _count(tmp_path, shard) == 3
    assert not swaps


def test_a_shard_that_lacks_a_file_is_reported(tmp_path: Path, engine: str, storage: _Noting) -> None:
    shard = OpenShards(tmp_path / "scratch").of(JOB, engine)
    _add(shard)
    shard.publish(storage, bytes(tmp_path))
    for file in (tmp_path / shard.location.decode()).iterdir():
        if file.name != META:
            file.unlink()
    with pytest.raises(StorageFault, match="cannot be opened"):
        _count(tmp_path, shard)
