"""What all processes of a test run share, corpora above all: the first that needs it makes it, the others find it made."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_SHARED = pytest.StashKey[Path]()
_HANDED = "shared_directory"

MakeOnce = Callable[[str, Callable[[Path], object]], Path]


def pytest_configure(config: pytest.Config) -> None:
    """A directory of this run's own, which its first process makes and removes; xdist's others are told it."""
    reported: dict[str, Any] | None = getattr(config, "workerinput", None)
    if reported is not None:
        config.stash[_SHARED] = Path(reported[_HANDED])
        return
    directory = Path(tempfile.mkdtemp(prefix="edbench-tests-"))
    directory.chmod(0o711)
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
    config.stash[_SHARED] = directory


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Told to each process of xdist's."""
    node.workerinput[_HANDED] = str(node.config.stash[_SHARED])


@pytest.fixture(scope="session")
def once(pytestconfig: pytest.Config) -> MakeOnce:
    """Gives the path of that name as `make` left it there; nobody may change what is below it."""
    shared = pytestconfig.stash[_SHARED]

    def make_once(name: str, make: Callable[[Path], object]) -> Path:
        place, made = shared / name, shared / f"{name}.made"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                shutil.rmtree(place, ignore_errors=True)  # another may have failed half way
                make(place)
                made.touch()
        return place

    return make_once
