"""Real text in 45 languages and 68 charsets through the pipeline: every planted word found, or the text says that it may be
wrong."""

from __future__ import annotations

from installation import Bench

from core.settings import INDEX_ENGINES


def test_every_language_is_found_in_every_charset(bench: Bench) -> None:
    """The profile `languages`, as small as it comes: each language in each charset once. In both engines; `verify` holds the
    text states and planted words of every file against the manifest."""
    languages = bench.home / "c"
    bench.edbench("corpus", "generate", str(languages), "--profile", "languages", "--scale", "0.1", "--seed", "1")
    with bench.standing():
        for engine in INDEX_ENGINES:
            bench.end(bench.discover("--index-engine", engine, corpus=languages))
            result = bench.result()
            assert result["index_engine"] == engine
            assert engine in result["versions"]
            assert result["index_bytes"] > 0
            found = bench.verify()
            assert (found["differences"], found["extra"], found["missing"]) == (0, 0, 0), engine
            assert found["terms"] > 900
