"""What block-8k calls outstanding was outstanding, or it is said."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import UsageError
from storage_tests.about import of_same_quantity
from storage_tests.devices import Direct
from storage_tests.fio_tests import PUBLISHED, BlockWording
from storage_tests.profile import Targets, made


@pytest.mark.parametrize("engine", ["psync", "xlibaio", "libaio2", "io_uring_cmd"])
def test_an_engine_that_keeps_nothing_outstanding_is_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="engine"):
        made("block-8k", Targets(paths=(Path("/a"),)), [f"engine={engine}"], small=True)


@pytest.mark.parametrize(
    ("direct", "engine", "taken", "warned"),
    [
        (True, "libaio", Direct.WORKS, 0),
        (False, "libaio", None, 1),
        (True, "libaio", Direct.CACHED, 1),
        (False, "io_uring", None, 0),
        (True, "posixaio", Direct.WORKS, 1),
    ],
)
def test_fewer_outstanding_than_asked_for_is_a_warning(
    direct: bool, engine: str, taken: Direct | None, warned: int
) -> None:
    """Linux queues of libaio only what passes the page cache by."""
    there = {"path": "/a", "device": 1, "label": "local", "mount": None, "direct": taken and str(taken)}
    settings = {"direct": direct, "engine": engine}
    shown = BlockWording({"targets": [there], "configuration": {"settings": settings}}).warnings(())
    assert sum("outstanding than requested" in line for line in shown) == warned


@pytest.mark.parametrize(("direct", "ours"), [(True, 12_000.0), (False, None)])
def test_the_report_stands_beside_o_direct_alone(direct: bool, ours: float | None) -> None:
    point: Any = SimpleNamespace(at=SimpleNamespace(values=lambda: {"case": 1, "volumes": 1, "outstanding": 256}),
                                 figures={"iops": SimpleNamespace(median=12_000.0)})  # fmt: skip
    settings = {"block": 8192, "read_percent": 60, "seconds": 120, "direct": direct}
    result: Any = SimpleNamespace(conditions={"configuration": {"settings": settings}}, points=[point])
    assert of_same_quantity(result, PUBLISHED[0]) == ours
