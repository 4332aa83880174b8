"""What `edbench result compare` takes: packages that check, and what is asked for by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from experiment_runs import a_result, a_run
from result_packages import edit_json

from core.errors import UsageError
from experiments.package.check import take
from experiments.result.codec import FILE, write_result
from experiments.workloads.discovery.result import PointSpec


@pytest.mark.usefixtures("drawn_once")
def test_only_what_checks_is_taken_unless_asked_for_by_name(copied: Path, tmp_path: Path) -> None:
    good = copied
    forged = Path(shutil.copytree(good, tmp_path / "forged"))
    edit_json(forged / FILE, lambda data: data.update(verdict="fast"))
    bare = write_result(a_result({PointSpec(1, 1, 4): [a_run()]}), tmp_path / "bare")
    shutil.copy(forged / FILE, good.parent / "copy.json")
    results, labels = take([good, good / FILE], unchecked=False)
    assert labels == []
    assert results[0] == results[1]
    for wrong, why in (
        (forged, "fails its check: result.json: changed since the manifest was written (and 1 more)"),
        (bare, "is not a result package: it has no MANIFEST"),
        (good.parent / "copy.json", "is not a result package: give the directory of one"),
    ):
        with pytest.raises(UsageError, match=r"result 2: .*--unchecked accepts it") as caught:
            take([good, wrong], unchecked=False)
        assert why in str(caught.value)
        (label,) = take([good, wrong], unchecked=True)[1]
        assert label.startswith("result 2: ")
        assert why in label
