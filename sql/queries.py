"""The hand-written statements in `queries/*.sql`, by name.

A file holds blocks of `-- name: NAME`, comment lines that describe it, then one statement with `%(parameter)s`. What
several statements share stands in `queries/parts/PART.sql` and is taken in by a line `@PART`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult


_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_PART = re.compile(r"^\s*@(\w+)$", re.MULTILINE)

NO_PARTS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement."""

    name: str
    description: str
    sql: str

    def run(self, conn: Connection, **parameters: Any) -> CursorResult[Any]:
        """Execute it on a connection whose transaction the caller owns."""
        return conn.exec_driver_sql(self.sql, parameters)


def parse_queries(text: str, origin: str, parts: Mapping[str, str] = NO_PARTS) -> Iterator[Query]:
    """The queries of one file; raises ValueError when a block has no description or no statement, or takes in a part
    that there is not."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise ValueError(f"{origin}: there is no part {match[1]}")
        return parts[match[1]]

    pieces = _NAME.split(text)
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = body.strip().splitlines()
        comments = [line[2:].strip() for line in lines if line.startswith("--")]
        statement = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
        if not comments or not statement:
            raise ValueError(f"{origin}: query {name} needs a description and a statement")
        yield Query(name, " ".join(comments), _PART.sub(part, statement))


def load_queries(package: str = "sql") -> dict[str, Query]:
    """Every query of a package, which may use parts of this one; raises ValueError when two have the same name."""
    out: dict[str, Query] = {}
    folder = files(package) / "queries"
    parts = {
        path.name.removesuffix(".sql"): _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
        for folder_of in {"sql", package}
        for path in (files(folder_of) / "queries" / "parts").iterdir()
    }
    for path in sorted((p for p in folder.iterdir() if p.name.endswith(".sql")), key=lambda p: p.name):
        for query in parse_queries(path.read_text(encoding="utf-8"), path.name, parts):
            if query.name in out:
                raise ValueError(f"{path.name}: there is already a query named {query.name}")
            out[query.name] = query
    return out


QUERIES = load_queries()
