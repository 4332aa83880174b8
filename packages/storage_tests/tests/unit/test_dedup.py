"""What deduplication can make of data is computed rightly, and what a storage made of them is told from what it says."""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

import chunker
import pytest

from core.errors import UsageError
from storage_tests.dedup import DedupRun, run_of
from storage_tests.dedup_data import Data, Distinct, Expected, expected_of, files_of, gathered
from storage_tests.devices import Usage, usage_at_rest
from storage_tests.profile import Targets, made

MIB = 1 << 20


def _in_pieces(data: bytes) -> Iterator[bytes]:
    """Of lengths that are no multiples of any chunk."""
    yield from (data[start : start + 10_007] for start in range(0, len(data), 10_007))


def _expected(*files: bytes) -> dict[str, Expected]:
    ways: list[Callable[[], Iterator[bytes]]] = [partial(_in_pieces, data) for data in files]
    return {one.cut: one for one in expected_of(ways, lambda: None)}


def test_a_shifted_copy_is_found_by_content_and_not_by_place() -> None:
    data = random.Random(3).randbytes(MIB)
    found = _expected(data, b"x" + data)
    assert [round(found[cut].ratio, 3) for cut in ("4K", "8K", "128K")] == [1.0, 1.0, 1.0]
    assert found["CDC"].ratio == pytest.approx(2.0, rel=0.02)
    assert {one.bytes for one in found.values()} == {2 * MIB + 1}


def test_the_same_file_twice_is_kept_once() -> None:
    data = random.Random(4).randbytes(300_001)
    found = _expected(data, data)
    assert {one.ratio for one in found.values()} == {2.0}
    assert found["4K"].chunks == 2 * 74
    assert found["8K"].compressed_to == 1.0
    assert _expected(b"words and words and words\n" * 20_000)["8K"].compressed_to < 0.1


def test_the_ratio_agrees_with_an_independent_chunker(tmp_path: Path) -> None:
    files = list(files_of("backups", 6 * MIB, 5, None))
    first = b"".join(files[0].pieces())
    held = [*(b"".join(file.pieces()) for file in files), random.Random(5).randbytes(1_001) + first]
    for number, data in enumerate(held):
        (tmp_path / str(number)).write_bytes(data)
    found, theirs = _expected(*held), chunker.ratios(tmp_path)
    for cut, one in found.items():
        assert one.ratio == pytest.approx(theirs[cut], rel=0.02), cut


def test_many_chunks_are_counted_from_some_of_them() -> None:
    """All copies of a chunk are kept or none: 12,000 different ones, three of each, in room for 1,000."""
    counted = Distinct(most=1_000)
    for _ in range(3):
        for number in range(12_000):
            counted.add(number.to_bytes(16, "big"))
    reported = counted.expected("x")
    assert reported.share <= 1 / 12
    assert reported.ratio == pytest.approx(3.0, rel=0.12)
    assert (reported.bytes, reported.chunks) == (3 * 12_000 * 16, 36_000)


@pytest.mark.parametrize("data", [one for one in get_args(Data) if one not in ("discovery", "own")])
def test_the_same_seed_gives_the_same_files(data: str) -> None:
    """Of about the size that was asked for; another seed gives others, but of zeros."""

    def whole(seed: int) -> list[tuple[str, bytes]]:
        return [(file.name, b"".join(file.pieces())) for file in files_of(data, 2 * MIB, seed, None)]  # type: ignore[arg-type]

    first = whole(1)
    assert first == whole(1)
    assert len({name for name, _ in first}) == len(first)
    assert (first != whole(2)) == (data != "zeros")
    assert 1.5 * MIB < sum(len(content) for _, content in first) < _room(data, 2 * MIB)
    reported = [(file.name, file.size) for file in files_of(data, 2 * MIB, 1, None)]  # type: ignore[arg-type]
    assert reported == [(name, len(content)) for name, content in first]


def _room(data: str, size: int) -> int:
    return made("dedup", Targets(paths=(Path(),)), [f"data={data}", f"size={size}"], small=False).room().bytes


def test_own_data_are_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"1234")
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "odd\udcff").write_bytes(b"5")
    assert {(file.name, file.size) for file in files_of("own", 0, 1, tmp_path)} == {("a/b", 4), ("odd\udcff", 1)}


def test_pieces_are_written_in_calls_of_one_size() -> None:
    out = list(gathered(iter([b"abc", b"", b"defgh", b"ij"]), 4))
    assert out == [b"abcd", b"efgh", b"ij"]


def _seen(**changes: object) -> DedupRun:
    usage = [Usage(used_bytes=used, used_inodes=0) for used in (1_000, 5_000, 3_000)]
    fields = {
        "repeat": 0, "order": 0, "started_at": 0.0, "elapsed_s": 2.0, "worker_cpu": 0.1, "files": 1,
        "bytes": 8_000, "counted": (), "bytes_by_second": (), "expected": (), "allocated_bytes": 4_000, "before": usage[0],
        "after_write": usage[1], "at_end": usage[2], "by_command": None, "reduce_s": 1.0, "stated": None, "host_busy": 0.5, "load1": 1.0,
    }  # fmt: skip
    return DedupRun(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_ratio_is_what_was_written_over_what_the_storage_grew_by() -> None:
    """When written, and after it was reduced; a command's word goes before the file system's; no growth is no ratio."""
    run = run_of(_seen())
    assert (run.written_ratio, run.ratio, run.used_bytes, run.allocated_ratio) == (2.0, 4.0, 2_000, 2.0)
    run = run_of(_seen(by_command=(100, 900, 500)))
    assert (run.written_ratio, run.ratio) == (10.0, 20.0)
    shrunk = Usage(used_bytes=10, used_inodes=0)
    assert run_of(_seen(at_end=shrunk)).ratio is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["data=own"], "source=DIR"),
        (["data=zeros", "source=/"], "vice versa"),
        (["reduce=no-such-program-here -x"], "no-such-program-here is not installed"),
        (["used= "], "is not a command"),
        (["stated=zeros"], "backups=2.8"),
        (["data=nonsense"], "data"),
    ],
)
def test_what_makes_no_sense_is_refused(given: list[str], why: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=why):
        made("dedup", Targets(paths=(tmp_path,)), given, small=True).check()


@pytest.mark.parametrize("below", [".", "inner", "link"])
def test_a_source_that_holds_the_path_is_refused(below: str, tmp_path: Path) -> None:
    """Writers would go through what they write, without end; one beside it is taken."""
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "link").symlink_to("inner")
    given = ["data=own", f"source={source}"]
    with pytest.raises(UsageError, match="contains --path"):
        made("dedup", Targets(paths=(source / below,)), given, small=True).check()
    (tmp_path / "source2").mkdir()
    made("dedup", Targets(paths=(tmp_path / "source2",)), given, small=True).check()


class _Reports:
    """A storage that tells of its space at given moments, and the clock that goes on by being waited for."""

    def __init__(self, reported: dict[float, int], grows: int = 0) -> None:
        self.now, self._reports, self._grows = 0.0, reported, grows

    def look(self, _roots: Sequence[Path]) -> Usage:
        known = [used for moment, used in self._reports.items() if moment <= self.now]
        return Usage(used_bytes=known[-1] + int(self.now * self._grows), used_inodes=0)

    def wait(self, seconds: float) -> None:
        self.now += seconds


def _rest(reported: _Reports, still: float) -> Usage | None:
    return usage_at_rest([], still, reported.look, lambda: reported.now, reported.wait)


@pytest.mark.parametrize(("still", "used"), [(3.0, 35), (0.0, 0)])
def test_what_is_reported_late_is_waited_for(still: float, used: int) -> None:
    """MooseFS tells once a second, and of what was just written up to three seconds later."""
    shown = _rest(_Reports({0.0: 0, 1.3: 17, 2.3: 35}), still)
    assert shown is not None
    assert shown.used_bytes == used


def test_space_that_never_rests_is_not_reported() -> None:
    """Someone else writes there all the time: no ratio is better than a false one."""
    assert _rest(_Reports({0.0: 0}, grows=1_000_000), 3.0) is None
