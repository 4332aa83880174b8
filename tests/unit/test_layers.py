"""The layers of the house: imports run one way only, and there is no cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = (
    ("core",),
    ("formats", "traces", "sql"),
    ("replay", "monitoring"),
    ("dataset_gen", "queue_manager", "worker"),
    ("controller",),
    ("experiments",),
    ("web",),
    ("cli",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
LIBRARIES = {"formats": {"core"}, "traces": {"core"}, "replay": {"core", "traces"}}  # and no more of what is below them


def _modules() -> dict[str, Path]:
    found = {}
    for package in LEVEL:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _imports(name: str, tree: ast.AST) -> Iterator[str]:
    """Modules of ours that a module imports, anywhere in it (a function-local import counts)."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
            names = [n for n in names if n in MODULES] or names
            names = [n for n in names if not any(m != n and m.startswith(n + ".") for m in names)] or names
        yield from (n for n in names if n.partition(".")[0] in LEVEL and n != name)


def _type_checking_only(tree: ast.Module) -> ast.Module:
    """The tree without `if TYPE_CHECKING:` blocks, which import nothing at run time."""
    body = [n for n in tree.body if not (isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test))]
    return ast.Module(body=body, type_ignores=[])


GRAPH = {
    name: {i for i in _imports(name, _type_checking_only(ast.parse(path.read_text()))) if i in MODULES}
    for name, path in MODULES.items()
}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_down_only(name: str) -> None:
    """A module imports its own package and those below, never beside or above."""
    own = name.partition(".")[0]
    tree = ast.parse(MODULES[name].read_text())
    for imported in _imports(name, tree):
        other = imported.partition(".")[0]
        assert other == own or LEVEL[other] < LEVEL[own], f"{name} imports {imported}"
        assert other == own or other in LIBRARIES.get(own, LEVEL), f"{name} imports {imported}"


def test_there_is_no_cycle() -> None:
    """Depth-first over every module: no module reaches itself."""
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for imported in sorted(GRAPH[name]):
                visit(imported, (*trail, name))
            done.add(name)

    for name in sorted(GRAPH):
        visit(name, ())


def test_only_the_storage_layer_opens_what_is_under_test() -> None:
    """No task body opens, creates or removes a file by itself: those calls would go unrecorded (design §4)."""
    for name in ("walk", "expand", "index", "finalise", "unpack", "texts", "task", "run_task", "sources"):
        tree = ast.parse((ROOT / "worker" / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called != "open", f"worker/{name}.py:{node.lineno} opens a file past the storage layer"
                assert not called.startswith(("os.open", "os.remove", "os.rename", "os.scandir", "os.stat", "shutil."))
