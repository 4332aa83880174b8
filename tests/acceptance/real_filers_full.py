"""`make test-filers`: storage that becomes full in the middle of a job, on file systems and servers of their own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench
from real_mounts import LOCAL, Real, real


@pytest.fixture(scope="module", params=[*LOCAL, "moosefs", "glusterfs"])
def storage(request: pytest.FixtureRequest) -> Iterator[Real]:
    """With disks that a test can fill."""
    with real(request.param, small=True) as there:
        yield there


@pytest.fixture
def there(storage: Real, bench: Bench, small: Path) -> Iterator[Bench]:
    """An installation whose source and storage root lie on it; nothing is left of them."""
    root = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    shutil.copytree(small, root / "corpus")
    bench.corpus = root / "corpus"
    bench.env["EDBENCH_STORAGE"] = str(root / "storage root")
    yield bench
    shutil.rmtree(root)


@pytest.mark.parametrize("phase", ["expand", "index"])
def test_full_in_the_middle(storage: Real, there: Bench, phase: str) -> None:
    """Suspended with the reason, again where it is resumed with no room; with room it ends with zero differences."""
    held = there.hold(phase, after=2)
    process = there.discover("--workers", "1", "--slots", "1")
    held.until_reached(process)
    with storage.full():
        held.let_go()
        _suspended(there.end(process, 1))
        _suspended(there.edbench("resume", "last", "--workers", "1", check=1).stderr)
    with there.attached():
        there.edbench("resume", "last", "--workers", "1")
        there.verify()


def _suspended(out: str) -> None:
    (line,) = [line for line in out.splitlines() if line.startswith("edbench: ")]
    assert "is suspended: " in line
    assert "No space left on device; free space" in line
