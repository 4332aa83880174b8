"""What O_DIRECT is on a path is tried, and told where it is not what was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import StorageFault
from storage_tests import devices
from storage_tests.about import ProfileTelling, shared_file_systems
from storage_tests.devices import Direct, direct_on, loops_through_cache

EINVAL, ENOSPC = 22, 28


def test_nothing_is_left_by_the_trial(tmp_path: Path) -> None:
    assert direct_on(tmp_path) in set(Direct)
    assert list(tmp_path.iterdir()) == []


def test_what_memory_answers_is_not_past_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if direct_on(tmp_path) is Direct.REFUSED:
        pytest.skip("temporary files take no O_DIRECT here")
    monkeypatch.setattr(devices, "resident_bytes", lambda _file: 4096)
    assert direct_on(tmp_path) is Direct.CACHED
    monkeypatch.setattr(devices, "resident_bytes", lambda _file: 0)
    assert direct_on(tmp_path) is Direct.WORKS


@pytest.mark.parametrize(("dio", "cached"), [("0", True), ("1", False), (None, False)])
def test_a_loop_device_keeps_its_file_in_the_cache(tmp_path: Path, dio: str | None, cached: bool) -> None:
    device = tmp_path / "block" / "loop7"
    (device / "loop7p1").mkdir(parents=True)
    if dio is not None:
        (device / "loop").mkdir()
        (device / "loop" / "dio").write_text(f"{dio}\n")
    for number, there in (("7:7", device), ("259:0", device / "loop7p1")):
        (tmp_path / number).symlink_to(there)
        assert loops_through_cache(tmp_path / number) is cached


def refusing(number: int) -> Callable[..., int]:
    """An open(2) that fails."""

    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(number, os.strerror(number))

    return refuse


def test_one_that_refuses_the_flag_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", refusing(EINVAL))
    assert direct_on(tmp_path) is Direct.REFUSED
    monkeypatch.setattr(os, "open", refusing(ENOSPC))
    with pytest.raises(StorageFault):
        direct_on(tmp_path)


def at(path: str, device: int, source: str, **more: object) -> dict[str, Any]:
    """A target as the surroundings have it."""
    return {"path": path, "device": device, "label": "local storage (ext4)", "mount": {"source": source}} | more


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        ((at("/a", 1, "/dev/sda"), at("/b", 1, "/dev/sda")), 1),  # two directories of one
        ((at("/a", 1, "server:/v"), at("/b", 2, "server:/v")), 1),  # mounted twice
        ((at("/a", 1, "/dev/sda"), at("/b", 2, "/dev/sdb")), 0),
        ((at("/a", 1, "tmpfs"), at("/b", 2, "tmpfs")), 0),  # two, whatever both are called
        ((at("/a", 1, "/dev/sda"), at("/b", 2, "/dev/sdb"), at("/c", 1, "/dev/sda")), 1),
    ],
)
def test_paths_on_one_file_system_are_told(targets: tuple[dict[str, Any], ...], told: int) -> None:
    said = list(shared_file_systems(targets))
    assert len(said) == told
    assert all("/a" in line and "one file system" in line for line in said)


def test_what_was_asked_for_and_not_had_is_a_warning() -> None:
    cached, works = at("/a", 1, "/dev/sda", direct="taken, but through this host's page cache"), at("/b", 2, "/dev/sdb")
    said = ProfileTelling({"targets": [cached, works | {"direct": str(Direct.WORKS)}]}).warnings(())
    assert len(said) == 1
    assert said[0].startswith("/a: O_DIRECT was requested")
