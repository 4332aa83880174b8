"""Data for storage tests: sizes as planned, generations that share what did not change."""

from __future__ import annotations

import hashlib

import pytest

from dataset_gen.material.blocks import BLOCK, KINDS, SeriesFile, plan_series, write_series
from dataset_gen.mix import Series
from dataset_gen.packing.zip import deflated

SEED = 7


def _series(kind: str, **options: float) -> Series:
    wanted = {"share": 1.0, "file_bytes": 40 * BLOCK, "generations": 1, **options}
    return Series(kind=kind, **wanted)  # type: ignore[arg-type]


def _written(file: SeriesFile) -> bytes:
    pieces: list[bytes] = []
    truth = write_series(file, SEED, pieces.append)
    data = b"".join(pieces)
    assert (truth.size, truth.sha256) == (len(data), hashlib.sha256(data).digest())
    assert len(data) == file.size
    return data


def _blocks(data: bytes) -> list[bytes]:
    return [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_the_budget(kind: str) -> None:
    series = _series(kind, generations=5, full_every=5, change_rate=0.1)
    files = plan_series(series, SEED, 200 * BLOCK)
    assert sum(f.size for f in files) == pytest.approx(200 * BLOCK, rel=0.12)
    assert len({f.name for f in files}) == len(files)
    assert len(_written(files[0])) == files[0].size


def test_what_can_be_reduced() -> None:
    (zeros, *_), (noise, *_), (science, *_) = (plan_series(_series(k), SEED, 40 * BLOCK) for k in KINDS[:3])
    assert not any(_written(zeros))
    for file in (noise, science):
        data = _written(file)
        assert len(set(_blocks(data))) == len(data) // BLOCK
        assert len(deflated(data)) > 0.93 * len(data)


def test_incremental_backups_hold_what_changed() -> None:
    series = _series("backup", generations=5, full_every=4, change_rate=0.1)
    files = plan_series(series, SEED, 60 * BLOCK)
    chain = [f for f in files if f.number == 0]
    assert [f.full for f in chain] == [True, False, False, False, True]
    restored = dict(enumerate(_blocks(_written(chain[0]))))
    for file in chain[1:4]:
        table, *changed = _blocks(_written(file))
        places = [int.from_bytes(table[8 + 4 * n : 12 + 4 * n], "big") for n in range(len(changed))]
        restored |= dict(zip(places, changed, strict=True))
    last = dict(enumerate(_blocks(_written(chain[4]))))
    same = sum(restored[at] == block for at, block in last.items())
    assert 0.85 * len(last) <= same < len(last)


def test_images_of_machines_change_little() -> None:
    series = _series("vm-image", generations=3, change_rate=0.05, used_share=0.5)
    first, second, *_ = (_blocks(_written(f)) for f in plan_series(series, SEED, 300 * BLOCK))
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    assert 0 < changed <= round(0.05 * len(first)) + 1
    assert 0.3 < sum(not any(block) for block in first) / len(first) < 0.7
