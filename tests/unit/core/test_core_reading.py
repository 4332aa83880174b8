"""Why a file could not be read: missing, no permission, a syntax error and damage are different things to a user."""

from __future__ import annotations

import errno
import json
import zlib
from pathlib import Path

import pytest

from core.errors import read_problem


def test_missing_forbidden_and_broken_storage_are_different(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "gone").read_bytes()
    with pytest.raises(IsADirectoryError) as directory:
        tmp_path.read_bytes()
    assert read_problem("a", missing.value) == "a does not exist"
    assert "is a directory, not a file" in read_problem("a", directory.value)
    assert "give this user read access" in read_problem("a", PermissionError(errno.EACCES, "no"))
    assert "check the file system" in read_problem("a", OSError(errno.EIO, "no"))


def test_another_charset_a_syntax_error_and_damage_are_different() -> None:
    with pytest.raises(UnicodeDecodeError) as charset:
        b"ab\xff".decode("utf-8")
    assert "(byte 3)" in read_problem("a", charset.value)
    with pytest.raises(json.JSONDecodeError) as syntax:
        json.loads('{"a":\n}')
    assert "syntax error: Expecting value: line 2" in read_problem("a", syntax.value)
    with pytest.raises(zlib.error) as damage:
        zlib.decompress(b"no")
    assert read_problem("a", damage.value).startswith("a is damaged: Error -3")
