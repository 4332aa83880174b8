"""readers.ciphers: what comes late, and what must not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
# The last comes with importlib.metadata, which is most of what it costs.
LATE = ("cryptography", "inflate64")


def _loaded(code: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name.partition(".")[0] for name in ended.stdout.split()}


def test_readers_come_without_what_few_files_need() -> None:
    handlers = (
        *(
            f"{name}.handler"
            for name in ("archives.zip", "office.ooxml", "office.doc", "office.xls", "office.ppt", "office.odf")
        ),
        "outlook.msg",
    )
    code = "import " + ", ".join(f"readers.{handler}" for handler in handlers)
    assert _loaded(code).isdisjoint(LATE)


def test_a_box_has_them_before_it_is_locked() -> None:
    assert _loaded("from worker.box.main import load_everything; load_everything(())").issuperset(LATE)
