"""Names that storage does not keep as they are written."""

from __future__ import annotations

from pathlib import Path

from core.storage.whole import naming_of, strays


def test_this_machine_keeps_names(tmp_path: Path) -> None:
    assert naming_of(tmp_path).kept
    assert list(tmp_path.iterdir()) == []


def test_storage_that_lists_names_in_another_case_has_no_strays() -> None:
    known = {"VOL001/TEXT/0001/EDB1.txt", "VOL001/TEXT/0001/EDB2.txt"}
    assert strays({path.lower() for path in known}, known) == set()
    beside = {"VOL001/TEXT/0001/edb1.txt", "VOL001/TEXT/0001/EDB2.txt.ab12.tmp"}
    assert strays(known | beside, known) == beside
