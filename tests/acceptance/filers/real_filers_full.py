"""`make test-filers`: storage that becomes full in the middle of a job, on file systems and servers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench
from real_mounts import EVERY, Real, installed, real, suspended

_FULL = "No space left on device; free space"
_SAID = {
    "glusterfs": (
        _FULL,
        "Stale file handle; check that the filer is mounted and reachable, and that no part of it is full",
    ),
    # Its client tries for two minutes to find room, and nothing ends it meanwhile.
    "moosefs": (_FULL, "cannot be killed (uninterruptible sleep"),
}


@pytest.fixture(scope="module", params=EVERY)
def storage(request: pytest.FixtureRequest) -> Iterator[Real]:
    """With disks that a test can fill."""
    with real(request.param, small=True) as there:
        yield there


@pytest.fixture
def there(storage: Real, bench: Bench, small: Path) -> Iterator[Bench]:
    """On it."""
    with installed(bench, storage, small) as made:
        yield made


@pytest.mark.parametrize("phase", ["expand", "index"])
def test_full_in_the_middle(storage: Real, there: Bench, phase: str) -> None:
    """Suspended with the reason; with room it ends with zero differences."""
    held = there.hold(phase, after=2)
    process = there.discover("--workers", "1", "--slots", "1")
    held.until_reached(process)
    with storage.full():
        held.let_go()
        suspended(there.end(process, 1), *_SAID.get(storage.name, (_FULL,)))
    with there.attached():
        there.edbench("resume", "last", "--workers", "1")
        there.verify()
