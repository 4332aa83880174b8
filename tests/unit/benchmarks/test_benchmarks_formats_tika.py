"""Reading what Tika's batch mode leaves behind, and doing without Tika."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchmarks.formats import engines
from benchmarks.formats.engines import TikaAbsent, files_per_second, find_tika


def test_the_rate_is_that_after_the_warm_up() -> None:
    """Two files warm up until second 10; the other three take two seconds."""
    done = [5_000_000_000, 10_000_000_000, 10_500_000_000, 11_000_000_000, 12_000_000_000]
    assert files_per_second(done, 2) == pytest.approx(1.5)


def test_no_rate_without_files_after_the_warm_up() -> None:
    assert files_per_second([1, 2], 2) == 0.0


def test_without_java_the_comparison_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TikaAbsent, match="no java"):
        find_tika(tmp_path)


def test_a_jar_of_ones_own_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TIKA_APP_JAR` wins over the cache and over a download."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'some VM 1' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("TIKA_APP_JAR", str(tmp_path / "gone.jar"))
    with pytest.raises(TikaAbsent, match=r"gone\.jar"):
        find_tika(tmp_path)
    (tmp_path / "own.jar").write_bytes(b"jar")
    monkeypatch.setenv("TIKA_APP_JAR", str(tmp_path / "own.jar"))
    found = find_tika(tmp_path)
    assert (found.jar, found.jvm) == (tmp_path / "own.jar", "some VM 1")


def test_another_jar_than_the_pinned_one_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = tmp_path / "served"
    served.write_bytes(b"not the jar")
    monkeypatch.setattr(engines, "URL", served.as_uri())
    with pytest.raises(TikaAbsent, match="SHA-512"):
        engines._download(tmp_path / "cache" / "tika.jar")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setattr(engines, "SHA512", hashlib.sha512(b"not the jar").hexdigest())
    engines._download(tmp_path / "cache" / "tika.jar")
    assert (tmp_path / "cache" / "tika.jar").read_bytes() == b"not the jar"


def test_without_a_network_the_comparison_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "URL", (tmp_path / "gone").as_uri())
    with pytest.raises(TikaAbsent, match="cannot be had"):
        engines._download(tmp_path / "tika.jar")
    assert list(tmp_path.iterdir()) == []


def test_names_that_cannot_stand_in_a_list() -> None:
    names = ["plain.txt", "a b/ü.eml", "two\nlines", "r\udce9sum\udce9", " first"]
    assert [engines.can_be_named(name) for name in names] == [True, True, False, False, False]
