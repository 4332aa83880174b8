"""What `make bench-joins` counts as joined rightly."""

from __future__ import annotations

from benchmarks.joins import Words, counted

TEXTS = (
    "An inter-\nnational and well-\nknown per\xadson who re-\nsigned the lease; zzz-\nyyy",
    "International and well-known: she resigned, and was re-signed on.",
)


def test_words_of_the_collection_tell_what_a_join_is() -> None:
    """Halves beside a cut are no evidence; case is none either."""
    words = Words()
    for text in TEXTS:
        words.add(text)
    found = counted(TEXTS, words)
    assert {name: sorted(pairs) for name, pairs in found.items()} == {
        "a word": ["inter-national"],
        "either": ["re-signed"],
        "a compound": ["well-known"],
        "unknown": ["per-son", "zzz-yyy"],
    }
    words.plain.add("person")
    assert sorted(counted(TEXTS, words)["a word"]) == ["inter-national", "per-son"]
