"""Whether a directory lies in another one, whatever it is called."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.storage.whole import is_within


def test_names_and_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    for inside in ("a", "a/b", "a/b/new/er", "link", "link/b", "link/new", "a/../a/b"):
        assert is_within(tmp_path / inside, tmp_path / "a"), inside
        assert is_within(tmp_path / inside, tmp_path / "link"), inside
    for outside in ("ab", "b", "a/../b", "."):
        assert not is_within(tmp_path / outside, tmp_path / "a"), outside
    assert is_within(tmp_path / "new" / "er", tmp_path / "new")
    assert not is_within(tmp_path / "a", tmp_path / "new")
    assert is_within("/a", "/")


@pytest.fixture
def second_name(tmp_path: Path) -> Iterator[Path]:
    """One directory mounted at two places: as with storage that does not tell case apart, no link leads from one name to
    the other."""
    (tmp_path / "first" / "below").mkdir(parents=True)
    second = tmp_path / "second"
    second.mkdir()
    done = subprocess.run(["mount", "--bind", str(tmp_path / "first"), str(second)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("this user may not mount")
    yield second
    subprocess.run(["umount", str(second)], check=True)


def test_a_directory_that_has_two_names(second_name: Path) -> None:
    """By its second name it lies where it does by the first."""
    first = second_name.with_name("first")
    for one, other in ((first, second_name), (second_name, first)):
        assert is_within(one, other)
        assert is_within(one / "below" / "new", other)
        assert is_within(one / "below" / "new", other / "below")
        assert not is_within(one, other / "below")
