"""One child's bytes on their way to the store."""

import hashlib
import io
import uuid
from pathlib import Path

import pytest
from recording import MemoryRecorder

from core.records import Layout, Limits
from core.storage.layer import Storage
from readers.base import Child
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind
from readers.streams import PieceStream, as_binary
from worker.costs import Budget
from worker.items.sources import CHUNK
from worker.items.unpack import KEEP_BYTES, FilerStore, Intake

ITEM = uuid.UUID(int=5)
JOB = uuid.UUID(int=9)


def _child(**given: object) -> Child:
    return Child(name=b"a", kind=Kind.ARCHIVE_MEMBER, ordinal=0, **given)  # type: ignore[arg-type]


def _breaking(*pieces: bytes, error: Exception) -> Child:
    left = list(pieces)

    def produce() -> bytes:
        if left:
            return left.pop(0)
        raise error

    return _child(stream=as_binary(PieceStream(produce)))


def _take(child: Child, budget: Budget | None = None) -> tuple[Intake, bytes]:
    intake = Intake(child, budget or Budget(Limits(), 1))
    intake.begin()
    return intake, b"".join(intake)


TRUNCATED = DocumentError(ExceptionCode.TRUNCATED, "cut")


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_size_hash_and_bytes_of_a_stream(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    budget = Budget(Limits(), 1)
    intake, written = _take(_child(stream=io.BytesIO(data)), budget)
    assert written == data
    assert intake.size == size == budget.spent
    assert intake.sha256 == hashlib.sha256(data).digest()
    source = intake.memory_source()
    assert source.data == data


def test_a_large_stream_is_not_kept_in_memory() -> None:
    intake, written = _take(_child(stream=io.BytesIO(bytes(KEEP_BYTES + 1))))
    assert len(written) == KEEP_BYTES + 1
    assert intake.memory_source() is None


def test_bytes_that_are_in_memory_anyway_are_kept() -> None:
    data = bytes(KEEP_BYTES + 1)
    intake, _ = _take(_child(data=data))
    source = intake.memory_source()
    assert source.data is data


def test_a_stream_that_breaks_before_its_first_byte_has_no_row() -> None:
    with pytest.raises(DocumentError) as caught:
        _take(_breaking(error=TRUNCATED))
    assert caught.value.code is ExceptionCode.TRUNCATED


def test_a_stream_that_breaks_later_leaves_a_partial_child() -> None:
    intake, written = _take(_breaking(b"x" * CHUNK, b"half", error=TRUNCATED))
    assert written == b"x" * CHUNK + b"half"
    assert intake.error.code is ExceptionCode.TRUNCATED
    assert intake.sha256 == hashlib.sha256(written).digest()


def test_an_unforeseen_error_in_a_stream_is_a_handler_error() -> None:
    """A bug in a decoder costs one child, and its cause is told."""
    intake, _ = _take(_breaking(b"x" * CHUNK, error=ZeroDivisionError("oops")))
    assert intake.error.code is ExceptionCode.HANDLER_ERROR
    assert "ZeroDivisionError: oops" in intake.error.detail


@pytest.mark.parametrize("layout", list(Layout))
def test_a_child_over_the_budget_leaves_no_file(tmp_path: Path, layout: Layout) -> None:
    store = FilerStore(Storage(MemoryRecorder()), bytes(tmp_path), JOB, layout, "w1")
    budget = Budget(Limits(expansion_floor=CHUNK, expansion_ratio=1), 1)
    intake = Intake(_child(stream=io.BytesIO(bytes(3 * CHUNK))), budget)
    intake.begin()
    with pytest.raises(DocumentError, match="expansion_limit"):
        store.put(ITEM, intake)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    budget.give_back(intake.size)
    assert budget.spent == 0


@pytest.mark.parametrize("layout", list(Layout))
def test_a_child_is_one_file_named_by_its_id(tmp_path: Path, layout: Layout) -> None:
    store = FilerStore(Storage(MemoryRecorder()), bytes(tmp_path), JOB, layout, "w1")
    location = store.put(ITEM, [b"ab", b"c"])
    middle = "w1/00" if layout is Layout.PER_WORKER else "00"
    assert location.decode() == f"jobs/{JOB.hex}/items/{middle}/{ITEM.hex}"
    assert (tmp_path / location.decode()).read_bytes() == b"abc"
    assert store.source(ITEM, b"../x", 3, hashlib.sha256(b"abc").digest()).whole(10) == b"abc"
