"""Which results may stand side by side, and what is said of them."""

import dataclasses
from typing import Any

import pytest
from experiment_runs import CONDITIONS, a_result, a_run

from core.errors import UsageError
from experiments.result.compare import compare, parse_grounds
from experiments.workloads.discovery.result import RATE, PointSpec, Result

ONE, TWO = PointSpec(1, 1, 4), PointSpec(1, 2, 4)


def _result(*elapsed: float, spec: PointSpec = ONE, **conditions: Any) -> Result:
    return a_result({spec: [a_run(seconds) for seconds in elapsed]}, **conditions)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"configuration": {"passes": 1, "fsync": "none", "limits": {"depth": 16}}}, "passes 1, the first has 2"),
        ({"configuration": {"passes": 2, "fsync": "none", "limits": {"depth": 9}}}, "limits.depth 9, the first has 16"),
        ({"configuration": {"passes": 2, "limits": {"depth": 16}}}, "fsync None, the first has none"),
        ({"corpus": {"hash": "xyz", "raw_bytes": 1_000_000}}, "corpus hash xyz, the first has abc"),
        ({"corpus": {"hash": "abc", "raw_bytes": 7}}, "corpus raw_bytes 7"),
        ({"expansion": 1.5}, "expansion 1.5, the first has 1.67"),
    ],
)
def test_what_differs_is_refused_by_name(conditions: dict[str, Any], message: str) -> None:
    """Configuration, corpus and expansion must be equal; the difference is named, and --force shows it as one."""
    results = [_result(10.0, 11.0), _result(10.0, 11.0, **conditions)]
    with pytest.raises(UsageError, match=message):
        compare(results, force=False)
    forced = compare(results, force=True)
    assert len(forced.differences) == 1
    assert message in forced.differences[0]


def test_another_kind_or_no_common_point_is_refused() -> None:
    with pytest.raises(UsageError, match="it is a knee, the first is a scale-up"):
        compare([_result(10.0), dataclasses.replace(_result(10.0), kind="knee")], force=False)
    with pytest.raises(UsageError, match=r"no point .* in common"):
        compare([_result(10.0), _result(10.0, spec=TWO)], force=False)
    with pytest.raises(UsageError, match="at least two"):
        compare([_result(10.0)], force=False)


def test_a_result_that_is_given_twice_is_named() -> None:
    """Perhaps it was mistyped: its figures show no difference, which says nothing."""
    one, other = _result(10.0, 11.0), _result(12.0, 13.0)
    (line,) = compare([one, other, other], force=False).disclosed
    assert line.startswith("result 3: it is result 2 once more")


def test_another_storage_is_the_point_of_it() -> None:
    other = _result(20.0, 20.5, 21.0, 21.5, 22.0, storage={"label": "network storage (nfs4)"})
    found = compare([_result(10.0, 10.25, 10.5, 10.75, 11.0), other], force=False)
    assert found.differences == ()
    assert any("network storage (nfs4)" in line for line in found.disclosed)
    cell = found.rows[0].cells[1]
    assert cell.against_first[RATE].startswith("-50.0 % [-5")


def test_repeats_that_mix_or_are_too_few_make_no_difference() -> None:
    mixed = [_result(10.0, 11.0, 12.0, 13.0, 14.0), _result(11.0, 12.0, 13.0, 14.0, 15.0)]
    cell = compare(mixed, force=False).rows[0].cells[1]
    assert cell.against_first[RATE] == "no difference [-26.7 % – +16.7 %]"  # five of each exclude no less
    few = [_result(10.0, 10.1, 10.2, 10.3), _result(20.0, 20.1, 20.2, 20.3)]
    cell = compare(few, force=False).rows[0].cells[1]
    assert cell.against_first[RATE] == "fewer than 5 repeats, or a zero: no statement"


def test_more_comparisons_want_more_evidence() -> None:
    """What one comparison alone would show cannot be shown among seven, by five repeats: they are judged together, and
    what could not be found is not said to be none."""

    def one(seconds: float) -> list[Any]:
        return [a_run(seconds + n / 10) for n in range(5)]

    specs = [PointSpec(1, workers, 4) for workers in range(1, 8)]
    first = a_result({spec: one(10.0) for spec in specs})
    other = a_result({spec: one(10.0) for spec in specs[1:]} | {specs[0]: one(20.0)})
    alone = compare([first, a_result({specs[0]: one(20.0)})], force=False).rows[0].cells[1]
    among = compare([first, other], force=False).rows[0].cells[1]
    assert alone.against_first[RATE].startswith("-")
    assert among.against_first[RATE] == "too few repeats for so many comparisons: no statement"


def test_a_point_that_one_has_not_is_left_empty() -> None:
    both = a_result({ONE: [a_run()], TWO: [a_run()]})
    found = compare([both, _result(10.0)], force=False)
    assert [(row.at["workers"], [cell is not None for cell in row.cells]) for row in found.rows] == [
        (1, [True, True]),
        (2, [True, False]),
    ]
    assert CONDITIONS["expansion"] == 1.67


def test_another_workload_is_always_refused() -> None:
    results = pytest.importorskip("replay_results")
    replayed = results.result(results.point(4, 990.0))
    with pytest.raises(UsageError, match="result 2 is of workload replay, the first of discovery"):
        compare([_result(10.0), replayed], force=True)


def _place(kind: str, *options: str, tested: bool | None = None) -> dict[str, Any]:
    mount = {"point": "/m", "type": kind, "source": "s", "options": ["rw", *options]}
    return {"label": kind, "path": "/m", "mount": mount, "on_storage_under_test": tested}


COLD = "cold on this host, at most {} of the bytes in memory after a drop"
NFS = {"storage": _place("nfs4", "relatime", "vers=4.2", "addr=10.0.0.1")}


@pytest.mark.parametrize(
    ("first", "other", "name"),
    [
        (NFS, {"storage": _place("nfs4", "relatime", "vers=3", "addr=10.0.0.1")}, "mount-options"),
        (NFS, {"storage": _place("fuse.mfs", "noatime")}, "mount-options"),
        ({"cache": {"state": COLD.format("0.1%")}}, {"cache": {"state": "unknown (nothing was …)"}}, "cache-state"),
        ({"cache": {"state": COLD.format("0.1%")}}, {"cache": {"state": "partly cold: up to 9%"}}, "cache-state"),
        (
            {"databases": [_place("ext4", tested=False)]},
            {"databases": [_place("ext4", tested=True)]},
            "database-placement",
        ),
    ],
)
def test_other_grounds_are_asked_for_by_name(first: dict[str, Any], other: dict[str, Any], name: str) -> None:
    pair = [_result(10.0, **first), _result(10.0, **other)]
    with pytest.raises(UsageError, match=f"result 2: {name} .*, the first has .*--allow {name} compares them"):
        compare(pair, force=False)
    with pytest.raises(UsageError, match=name):
        compare(pair, force=False, allow=parse_grounds("mount-options,cache-state,database-placement") - {name})
    found = compare(pair, force=False, allow={name})
    assert found.differences == ()
    assert found.disclosed
    assert len(compare(pair, force=True).differences) == 1


def test_what_another_storage_brings_along_is_no_other_ground() -> None:
    for first, other in (
        (NFS, {"storage": _place("nfs4", "relatime", "vers=4.2", "addr=10.0.0.2")}),
        (NFS, {"storage": _place("fuse.mfs", "relatime", "user_id=0")}),
        ({"cache": {"state": COLD.format("0.1%")}}, {"cache": {"state": COLD.format("0.9%")}}),
        ({"databases": [_place("ext4")]}, {"databases": [_place("ext4"), _place("ext4")]}),
    ):
        assert compare([_result(10.0, **first), _result(10.0, **other)], force=False).differences == ()
    with pytest.raises(UsageError, match="--allow: unknown ground 'mount'"):
        parse_grounds("mount")
