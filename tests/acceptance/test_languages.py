"""Real text in 45 languages and 68 charsets through the pipeline: every planted word found, or the text says that it may be
wrong."""

from __future__ import annotations

from installation import Bench


def test_every_language_is_found_in_every_charset(bench: Bench) -> None:
    """The profile `languages`, as small as it comes: each language in each charset once. `verify` compares the text states and
    planted words of every file with the manifest; that the engines answer alike is in tests/unit/search/test_same_answers.py."""
    languages = bench.home / "c"
    bench.edbench("corpus", "generate", str(languages), "--profile", "languages", "--scale", "0.1", "--seed", "1")
    with bench.standing():
        bench.end(bench.discover(corpus=languages))
        found = bench.verify()
        assert (found["differences"], found["extra"], found["missing"]) == (0, 0, 0)
        assert found["terms"] > 900
