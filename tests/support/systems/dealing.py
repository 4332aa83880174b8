"""In which order the files of a run are dealt out to its processes."""

import os

import pytest

_SECONDS = {"acceptance": 12.0, "integration": 1.0}  # that a test takes, roughly; of any other:
_LITTLE = 0.1
_WAITING = 0.9  # of the run, in which files that wait begin: short ones fill its end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of unit tests, which keep a processor busy, evenly among those of tests that wait for services half of the time,
    instead of behind them: while there are both no processor is idle. The long files of each kind come first, so that none
    begins when the others are about to end."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    took = {file: _seconds(file) * len(of_file) for file, of_file in files.items()}
    due: list[tuple[float, str]] = []  # how much of its kind goes before a file
    for waiting in (True, False):
        kind = sorted(
            (file for file in files if (_seconds(file) > _LITTLE) is waiting), key=took.__getitem__, reverse=True
        )
        whole, before = sum(took[file] for file in kind), 0.0
        for file in kind:
            due.append((before / whole * (_WAITING if waiting else 1.0), file))
            before += took[file]
    due.sort(key=lambda entry: entry[0])
    items[:] = [item for _, file in due for item in files[file]]


def _seconds(file: str) -> float:
    return next((seconds for folder, seconds in _SECONDS.items() if f"/{folder}/" in file), _LITTLE)
