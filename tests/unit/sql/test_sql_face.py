"""Statements outside sql/ are functions with typed rows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sql_faces import FACES, STATEMENTS

from sql.face import face, hints_of, parameters

ROOT = Path(__file__).parents[3]
ROOMS = ("core", "packages", "traces", "replay", "monitoring", "dataset_gen", "queue_manager", "worker", "controller", "experiments", "web", "cli")  # fmt: skip


def wanted(statement: str) -> set[str]:
    """The parameters of a statement."""
    return set(re.findall(r"%\((\w+)\)s", STATEMENTS[statement].sql))


@pytest.mark.parametrize("name", FACES)
def test_a_face_gives_each_statement_what_it_asks_for(name: str) -> None:
    given = parameters(FACES[name])
    assert given == {statement: wanted(statement) for statement in given}
    for statement in given:
        assert "return" in hints_of(getattr(FACES[name], statement))


def test_a_statement_that_there_is_not_is_an_error_at_import() -> None:
    class Face:
        def no_such_statement(self, conn: object) -> None: ...

    with pytest.raises(KeyError, match="no_such_statement"):
        face(Face)


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Each `QUERIES["name"].run(conn, …)` of sql/ with its parameters."""
    for path in (ROOT / "sql").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name("QUERIES")), attr="run")):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_statements_are_given_the_parameters_that_they_have() -> None:
    seen = 0
    for where, call in calls():
        name = call.func.value.slice  # type: ignore[attr-defined]
        if not isinstance(name, ast.Constant):
            continue
        given = {keyword.arg for keyword in call.keywords}
        asked = wanted(str(name.value))
        assert given - {None} <= asked, where
        assert None in given or given == asked, where
        seen += 1
    assert seen > 100


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_names_statements(room: str) -> None:
    named = [path for path in (ROOT / room).rglob("*.py") if "QUERIES" in path.read_text(encoding="utf-8")]
    assert not named, "declare them in a face (sql/faces)"
