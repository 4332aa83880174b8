"""`edbench result compare` takes only packages that pass their check."""

import shutil
from pathlib import Path

from experiment_runs import a_result, a_run
from result_packages import edit_json

from experiments.package.check import doubt
from experiments.result.codec import FILE, write_result
from experiments.workloads.discovery.result import PointSpec


def test_only_what_checks_is_believed(copied: Path, tmp_path: Path) -> None:
    good = copied
    forged = Path(shutil.copytree(good, tmp_path / "forged"))
    edit_json(forged / FILE, lambda data: data.update(verdict="fast"))
    bare = write_result(a_result({PointSpec(1, 1, 4): [a_run()]}), tmp_path / "bare")
    shutil.copy(forged / FILE, good.parent / "copy.json")
    assert (doubt(good), doubt(good / FILE)) == (None, None)
    for wrong, why in (
        (forged, "fails its check: result.json: changed since the manifest was written (and 1 more)"),
        (bare, "is not a result package: it has no MANIFEST"),
        (good.parent / "copy.json", "is not a result package: give the directory of one"),
    ):
        assert why in (doubt(wrong) or "")
