"""Imports run one way only, from layer to layer and within each: those in functions and those for types count too."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = (
    ("readers",),
    ("core",),
    ("traces", "sql", "search"),
    ("monitoring",),
    ("dataset_gen", "queue_manager", "worker"),
    ("controller",),
    ("experiments",),
    ("web",),
    ("cli",),
    ("review", "production", "storage_tests", "simulate"),
    ("replay",),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"review", "production", "storage_tests", "simulate", "replay"}  # a checkout without it is whole
LIBRARIES = {  # that import no more of what is below them
    "search": {"core", "readers"},
    "traces": {"core"},
}


def _modules() -> dict[str, Path]:
    found = {}
    for package in LEVEL:
        root = ROOT if (ROOT / package / "__init__.py").is_file() else ROOT / "packages" / package
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _imports(name: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
            names = [n for n in names if n in MODULES] or names
            names = [n for n in names if not any(m != n and m.startswith(n + ".") for m in names)] or names
        yield from (n for n in names if n.partition(".")[0] in LEVEL and n != name)


@cache
def _imported() -> dict[str, frozenset[str]]:
    """By module: the modules of ours that it imports, also in a function, and those only for their types."""
    return {name: frozenset(_imports(name, ast.parse(path.read_text()))) for name, path in MODULES.items()}


@pytest.mark.parametrize("package", sorted(LEVEL))
def test_imports_go_down_only(package: str) -> None:
    below = {other for other, level in LEVEL.items() if level < LEVEL[package]}
    allowed = {package} | (below & LIBRARIES.get(package, below))
    modules = {name: imported for name, imported in _imported().items() if name.partition(".")[0] == package}
    if package in OPTIONAL and not modules:
        pytest.skip(f"package {package} is not in this checkout")
    assert modules
    breaches = {
        f"{name} imports {other}"
        for name, imported in modules.items()
        for other in imported
        if other.partition(".")[0] not in allowed
    }
    assert not breaches


def test_there_is_no_cycle() -> None:
    """Raises CycleError, which names the modules of one."""
    TopologicalSorter({name: imported & MODULES.keys() for name, imported in _imported().items()}).prepare()


# Modules of worker/ and packages/readers/ that open files by themselves, and which: nothing that is under test.
_OF_THEIR_OWN = {
    "worker/sandbox/lockdown.py": "the directories that a sandbox may read, and the file that a probe is given",
    "worker/sandbox/fork_server.py": "/dev/null",
    "search/publisher.py": "the index on scratch, before it is published",
    "search/engine.py": "the meta file of a shard that is opened to be searched: no job's work",
    "search/tantivy_engine.py": "the index on scratch; on the filer with --index-io direct, reported as unrecorded",
    "search/whoosh_engine.py": "the index on scratch; on the filer with --index-io direct, reported as unrecorded",
    "worker/member/agent.py": "the token by which a member shows that it has the controller's storage, and the kernel's accounts",
    "worker/inspect/tree.py": "its spools on scratch",
    "worker/inspect/file.py": "its spool on scratch; its traces on scratch",
    "worker/office/converting.py": "documents and PDFs on scratch; what LibreOffice says of itself; the names of sockets in /tmp",
    "packages/production/production/items.py": "a shard on scratch, which was read through the layer",
    "worker/processes.py": "/proc",
    "worker/slots/watch.py": "scratch",
}
# Modules of optional packages that do tasks.
_PHASES_OF_PACKAGES = [
    f"production/production/{name}.py" for name in ("finish", "items", "output", "pages", "rendering", "reports")
]
_CALLS = (
    "os.open",
    "os.remove",
    "os.rename",
    "os.replace",
    "os.unlink",
    "os.scandir",
    "os.listdir",
    "os.stat",
    "shutil.",
)
_METHODS = (".unlink", ".iterdir", ".read_bytes", ".read_text", ".write_bytes", ".write_text")


def _opens(path: Path) -> bool:
    called = (ast.unparse(n.func) for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
    return any(c == "open" or (c.startswith(_CALLS) and c != "shutil.which") or c.endswith(_METHODS) for c in called)


def test_only_the_storage_layer_opens_what_is_under_test() -> None:
    """Nothing that works on items opens, lists or removes files by itself: those calls would go unrecorded (design §4).

    Both ways: a module that does not, or is gone, does not stay in the list."""
    rooms = ("worker", "search", "packages/readers/readers")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    paths += [path for name in _PHASES_OF_PACKAGES if (path := ROOT / "packages" / name).exists()]
    found = {str(path.relative_to(ROOT)) for path in paths if _opens(path)}
    unlisted, stale = found - set(_OF_THEIR_OWN), {name for name in _OF_THEIR_OWN if (ROOT / name).exists()} - found
    assert not unlisted, f"{sorted(unlisted)} open files past the storage layer"
    assert not stale, f"{sorted(stale)} open none"
