"""What `make bench-formats` counts as found, and what it says of a file in which we found less."""

from __future__ import annotations

from benchmarks.formats.score import our_extracts, peer_extract, scores, terms_of


def _line(path: list[str], text: str, media_type: str = "text/plain", **metadata: object) -> dict[str, object]:
    return {"container_path": path, "text": text, "media_type": media_type, "metadata": metadata}


def test_terms_are_runs_of_three_letters_without_case() -> None:
    assert terms_of("An APPLE, apple 2nd abc1def x_yzw Straße") == {"apple", "abc", "def", "yzw", "strasse"}


def test_what_tika_found_is_text_of_the_file_and_what_is_in_it() -> None:
    found = peer_extract(
        [
            {"X-TIKA:content": "outer words", "dc:title": "Unseen", "Content-Type": "application/vnd.ms-tnef"},
            {
                "X-TIKA:content": "the body",
                "resourceName": "message.rtf",
                "X-TIKA:embedded_resource_path": "/message.rtf",
            },
            {"X-TIKA:content": "inner", "resourceName": "a.txt", "X-TIKA:embedded_resource_path": "/a.txt"},
            {"Content-Type": "image/png"},
        ]
    )
    assert found.terms == {"outer", "words", "the", "body", "inner"}
    assert (found.children, found.characters) == (2, len("outer words" + "the body" + "inner"))


def test_parts_of_a_message_without_a_name_are_its_text() -> None:
    kinds = {"": ["message/rfc822", "text/plain"], "/embedded-1": "text/plain", "/a.txt": "text/plain", "/b.zip": "x/y"}
    kinds |= {"/b.zip/embedded-2": "text/plain", "/embedded-3": "image/png"}
    found = peer_extract({"X-TIKA:embedded_resource_path": path, "Content-Type": kind} for path, kind in kinds.items())
    assert (found.children, found.media_type, found.wrappers) == (4, "message/rfc822", 0)
    assert found.endings == {"txt", "zip"}


def test_a_file_called_message_rtf_is_a_child_elsewhere() -> None:
    found = peer_extract(
        [
            {"Content-Type": "application/zip"},
            {"resourceName": "message.rtf", "X-TIKA:embedded_resource_path": "/message.rtf"},
        ]
    )
    assert found.children == 1


def test_ours_are_text_metadata_and_names_at_all_depths() -> None:
    found = our_extracts(
        [
            _line(["a.eml", "deep.zip", "notes.txt"], "inmost"),
            _line(["a.eml", "deep.zip"], ""),
            _line(["a.eml"], "body", "message/rfc822", subject="Greeting", to=["Someone"]),
        ]
    )["a.eml"]
    assert found.terms >= {"inmost", "body", "greeting", "someone", "notes", "deep"}
    assert (found.children, found.media_type) == (2, "message/rfc822")


def test_a_shortfall_names_what_is_missing() -> None:
    ours = our_extracts([_line(["a"], "alpha beta"), _line(["b"], "gamma")])
    peers = {
        "a": peer_extract([{"X-TIKA:content": "alpha beta delta"}, {}]),
        "b": peer_extract([{"X-TIKA:content": "gamma"}]),
        "c": peer_extract([{"X-TIKA:content": "omega"}]),
    }
    total = scores(ours, peers)[""]
    assert (total.files, total.terms, total.found) == (3, 5, 3)
    assert total.fewer_children == 1
    assert [s.name for s in total.shortfalls] == ["a", "c"]
    assert total.shortfalls[0].line() == "a (text/plain): 66.7% of the terms; missing: delta; 0 of 1 children"


def test_equal_finds_are_no_shortfall() -> None:
    """More than the peer is fine."""
    ours = our_extracts([_line(["a", "child"], ""), _line(["a"], "alpha beta")])
    total = scores(ours, {"a": peer_extract([{"X-TIKA:content": "beta"}])})[""]
    assert (total.recall, total.shortfalls) == (1.0, [])


def test_numbers_are_terms_too() -> None:
    """A missing amount counts as a missing word does; one digit is too common to say anything."""
    assert terms_of("Invoice 2031 of 7: 1,234.50") == {"invoice", "2031", "234", "50"}
