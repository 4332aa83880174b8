"""Named statements from .sql files."""

from __future__ import annotations

import pytest

from sql.face import QUERIES, parse_queries


def test_every_query_has_a_name_and_a_description() -> None:
    """Promise: the hot statements are readable by themselves, so each says what it does."""
    assert {"claim", "fence", "dispatch", "insert_items", "demand"} <= set(QUERIES)
    for query in QUERIES.values():
        assert len(query.description) > 5, query.name
        assert "--" not in query.sql, query.name
        assert not query.sql.endswith(";"), query.name


def test_blocks_are_split_at_their_names() -> None:
    """Promise: a file's header and each block's comments stay out of the statement."""
    text = "-- About this file.\n\n-- name: one\n-- First\n-- thing.\nSELECT 1;\n\n-- name: two\n-- Second.\nSELECT\n  2;\n"
    one, two = parse_queries(text, "x.sql")
    assert (one.name, one.description, one.sql) == ("one", "First thing.", "SELECT 1")
    assert (two.name, two.sql) == ("two", "SELECT\n  2")


@pytest.mark.parametrize("text", ["-- name: bare\nSELECT 1;\n", "-- name: empty\n-- Says something.\n"])
def test_a_block_without_description_or_statement_is_refused(text: str) -> None:
    """Promise: a forgotten description is an error at import, not a habit."""
    with pytest.raises(ValueError, match=r"x\.sql"):
        list(parse_queries(text, "x.sql"))


def test_what_statements_share_stands_in_one_place() -> None:
    """Promise: a line `@part` takes the part in; one that there is not is an error at import."""
    text = "-- name: one\n-- First.\nSELECT 1 WHERE a\n  @more\nORDER BY 1;\n"
    (one,) = parse_queries(text, "x.sql", {"more": "AND b"})
    assert one.sql == "SELECT 1 WHERE a\nAND b\nORDER BY 1"
    with pytest.raises(ValueError, match=r"x\.sql: there is no part more"):
        list(parse_queries(text, "x.sql"))
    assert all("\n@" not in query.sql.replace(" ", "") for query in QUERIES.values())


@pytest.mark.parametrize("newer", ["pg_input_is_valid(", "any_value(", "json_table(", "uuidv7("])
def test_statements_are_those_of_postgresql_15(newer: str) -> None:
    """Promise: what `doctor` says is enough is enough; these came later."""
    assert not [query.name for query in QUERIES.values() if newer in query.sql.lower()]
