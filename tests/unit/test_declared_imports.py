"""What the product imports is what pyproject.toml names, and not what something else happens to bring along."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = [ROOT, *(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))]
PROJECTS = {place: tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8")) for place in PLACES}
PACKAGES = {
    place: set(
        project["tool"]["uv"]["build-backend"].get("module-name") or [project["project"]["name"].replace("-", "_")]
    )
    for place, project in PROJECTS.items()
}
# By package: what a module of it imports that is only loaded where that package is installed too. uv cannot install a package that
# declares another one of the workspace which is not in the checkout.
COMPANIONS = {"replay": {"storage_tests"}}
LATER = {"compression"}  # in the standard library from 3.14 on; before, a package that is named


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _typing_only(tree: ast.AST) -> set[ast.AST]:
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def _imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = _typing_only(tree)
    found = set()
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_every_import_is_declared(place: Path) -> None:
    project = PROJECTS[place]["project"]
    extras = project.get("optional-dependencies", {}).values()
    named = {_plain(re.split(r"[\[<>=~;! ]", line)[0]) for line in (*project["dependencies"], *chain(*extras))}
    ours = PACKAGES[place].union(*(PACKAGES[other] for other in PLACES if PROJECTS[other]["project"]["name"] in named))
    distributions = packages_distributions()
    missing = {
        f"{path.relative_to(ROOT)}: {module}"
        for package in PACKAGES[place]
        for path in (place / package).rglob("*.py")
        for module in _imported(path) - ours - sys.stdlib_module_names - LATER - COMPANIONS.get(place.name, set())
        if not named & {_plain(name) for name in distributions.get(module, [])}
    }
    assert missing == set()


# An installation without extras: their modules cannot be imported.
_WITHOUT_EXTRAS = """
import sys
from importlib.metadata import distributions
extras = [line for one in distributions() if one.name.startswith("edbench") for line in one.requires if "extra ==" in line]
sys.modules |= {line.split()[0].split("=")[0].split(">")[0].replace("-", "_"): None for line in extras}
"""


def _without_extras(program: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", _WITHOUT_EXTRAS + program]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)


def test_a_worker_needs_no_extra() -> None:
    done = _without_extras("""
import cli.worker, cli.inspect, queue_manager.main, worker.main, worker.run_task
import worker.ocr.reading
from worker.sandbox.main import load_everything
load_everything(())
""")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (("verify", "1"), "pyarrow", "edbench[corpus]"),
        (("bench", "storage", "client-sweep", "--s3", "s3://bucket/prefix"), "obstore", "edbench-storage-tests[s3]"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(words: tuple[str, ...], module: str, extra: str) -> None:
    if extra.startswith("edbench-"):
        pytest.importorskip("storage_tests")
    done = _without_extras(f"""
from cli.main import run
sys.argv = ["edbench", *{words}]
sys.exit(run())
""")
    assert done.returncode == 1
    assert done.stderr == f"edbench: this command needs {module}, which is not installed; run: pip install '{extra}'\n"


def test_modules_that_commands_import_while_services_start_exist() -> None:
    """`installation(work=...)` names modules as text. Where services run already they are not imported, so that no test of a
    command sees a wrong one: the first command of the day fails."""
    named = {
        (path.relative_to(ROOT).as_posix(), text.value)
        for path in (*ROOT.glob("cli/*.py"), *ROOT.glob("packages/*/*/commands.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword | ast.Assign) and node.value is not None
        if (node.arg if isinstance(node, ast.keyword) else ast.unparse(node.targets[0])) == "work"
        for text in ast.walk(node.value)
        if isinstance(text, ast.Constant)
    }
    assert len(named) > 10  # of the core alone, without optional packages
    missing = {one for one in named if not _found(one[1])}
    assert not missing


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
