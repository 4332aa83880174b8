"""controller.labels.rules: what a job was created on, in words that stay with it."""

from pathlib import Path

import msgspec
import pytest

from controller.labels import rules
from controller.labels.rules import ELSEWHERE, Surroundings, storage_text, surroundings_of
from core.mounts import parse_mountinfo
from core.settings import Settings

MOUNTS = """
20 1 8:1 / / rw - ext4 /dev/sda1 rw
21 20 0:50 / /mnt/filer rw - fuse mfs#192.0.2.10:9421 rw
22 20 0:51 / /mnt/again rw - fuse mfs#192.0.2.10:9421 rw
23 20 0:52 / /mnt/memory rw - tmpfs tmpfs rw
24 20 0:53 / /mnt/other rw - tmpfs tmpfs rw
"""
FILER = "network storage (fuse, moosefs), mfs#192.0.2.10:9421, /mnt/filer"


@pytest.fixture(autouse=True)
def _mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "read_mountinfo", lambda: parse_mountinfo(MOUNTS))


@pytest.mark.parametrize(
    ("storage", "source", "elsewhere"),
    [
        ("/mnt/filer", "/mnt/filer/corpora/c", None),
        ("/mnt/filer", "/mnt/again/c", None),  # the same file system, mounted twice
        ("/mnt/filer", "/evidence/c", "local storage (ext4), /dev/sda1, /evidence/c"),
        ("/mnt/memory", "/mnt/other/c", "memory (tmpfs), tmpfs, /mnt/other/c"),
    ],
)
def test_a_source_on_another_file_system_is_named_with_what_it_is_on(
    storage: str, source: str, elsewhere: str | None
) -> None:
    around = surroundings_of(Settings(storage=Path(storage)), source.encode())
    label = "".join(around.elsewhere)
    assert (ELSEWHERE in label) == (elsewhere is not None)
    text = storage_text(around.to_json())
    assert (elsewhere or "") in label
    assert text.endswith(f"; source on {elsewhere}" if elsewhere else storage)


def test_it_comes_back_as_it_was_stored() -> None:
    around = surroundings_of(Settings(storage=Path("/mnt/filer"), filer_cache=7), b"/mnt/filer/c")
    assert msgspec.convert(around.to_json(), Surroundings) == around
    assert storage_text(around.to_json()) == FILER
    assert around.cache.bytes == 7
