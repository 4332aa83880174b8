"""What users read is written in plain technical English: none of the words that the project replaced comes back.

Users read strings of the code (messages, labels, help, schemas' descriptions), docstrings that become help or pages of
the API, the web UI, the user docs, and the comments of the files that they edit. `SURFACES` lists all of it."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

# What is replaced, each with the words to use instead.
REPLACED = {
    r"(fore)?(tell|tells|telling|told)": "report, show, print, predict",
    r"(is|are|was|were) said|says|said": "is reported, is labelled, prints, contains",
    r"beside": "alongside, next to, as well as",
    r"stands?(?! for\b)|stood(?! for\b)": "is in, is",
    r"lies|lie|lying|lay in": "is in, is stored in",
    r"(no|some|every|any)body|whoever": "the process, the user, anyone who, all",
    r"mend(s|ed|ing)?": "fix, repair",
    r"anew": "again; regenerate, recompute",
    r"(held|hold|holds|holding) (\w+ ){0,2}against": "compared with, checked against",
    r"made up": "generated",
    r"what is left out|what there is of|there is of it": "the omitted parts, the available ones",
    r"(be|been|being) had": "is not available, cannot be obtained",
    r"(be|is|are|was|were|still|slots?|workers?|have|had|ended) at it|at work": "running, busy",
    r"--[a-z0-9-]+`? (is|are) of": "requires",
    r"(go|goes|going|went) (on|round)": "continues, repeats",
    r"for want of": "without, because there is no",
    r"errands?|doings": "background task, measurement",
    r"nursery|crumbs?": "fork server, breadcrumb",
    r"parsers?('s?)? box(es)?|in a box": "sandbox",
    r"unpaired|(no|its|a) pair(?! of\b)|pairs? (on|of|with) (it|null|a run)|a pair of(?= on)": "null baseline, NO BASELINE",
    r"asks for|asked of": "demands, requires",
    r"stud(y|ies)": "experiment",
    r"(?<!word )processors?": "CPU, core",
    r"(on|of) the page\b(?!s)|the page's (token|form)|the page and (the )?API": "web UI",
}
WORDS = re.compile(
    r"(?<![\w.{/\[-])(?:" + "|".join(f"(?P<w{n}>{word})" for n, word in enumerate(REPLACED)) + r")(?![\w/]|\.\w)",
    re.IGNORECASE,
)


def _python(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a module, with `{}` for what an f-string fills in, and the docstrings that are help or documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(id(node.value))  # a docstring, or one of an attribute
        elif isinstance(node, ast.JoinedStr):
            parts.update(id(part) for part in node.values)
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _shown(node, path):
            yield node.lineno, ast.get_docstring(node) or ""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in parts:
            continue
        if " " in node.value or node.value.isupper():  # else it is a key or a name
            yield node.lineno, node.value


def _shown(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, path: Path) -> bool:
    """Commands, routes of the API and its models; docs/schemas has the docstrings of other documents."""
    if isinstance(node, ast.ClassDef):
        return "models" in path.parts
    annotations = (ast.unparse(a.annotation) for a in node.args.args if a.annotation)
    return (bool(node.decorator_list) and "web" in path.parts) or "typer.Context" in annotations


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)


def _page(path: Path) -> Iterator[tuple[int, str]]:
    """Prose of a Markdown page: neither code nor quotations."""
    text = path.read_text(encoding="utf-8")
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731 — lines keep their numbers
    for quoted in (r"(?ms)^ *(```|~~~).*?^ *\1", r"`[^`]*`", r"\]\([^)]*\)", r'"[^"]{1,300}"', r"“[^”]{1,300}”"):
        text = re.sub(quoted, blank, text)
    yield from enumerate(text.splitlines(), 1)


def _template(path: Path) -> Iterator[tuple[int, str]]:
    """Text and attributes of a template, without its comments and expressions."""
    text = path.read_text(encoding="utf-8")
    blank = lambda found: re.sub(r"[^\n]", " ", found[0])  # noqa: E731
    for hidden in (r"(?s)\{#.*?#\}", r"(?s)<!--.*?-->", r"(?s)\{%.*?%\}"):
        text = re.sub(hidden, blank, text)
    yield from enumerate(re.sub(r"\b(class|id|data-[\w-]+|href|src|for|name)=\"[^\"]*\"", blank, text).splitlines(), 1)


def _script(path: Path) -> Iterator[tuple[int, str]]:
    """String and template literals of a script that have a blank in them."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(
        r"(?s)//[^\n]*|/\*.*?\*/|\"((?:\\.|[^\"\\\n])*)\"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`", text
    ):
        literal = next((group for group in found.groups() if group), "")
        if " " in literal:
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"\$\{[^}]*\}", "{}", literal)


# Names of fields in stored result packages.
_KEPT = {"said", "processor", "processor_s"}


def _schema(path: Path) -> Iterator[tuple[int, str]]:
    """Descriptions and the names of fields."""

    def texts(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (value for key, value in node.items() if key == "description" and isinstance(value, str))
            yield from (name for name in node.get("properties", ()) if name not in _KEPT)
            for value in node.values():
                yield from texts(value)
        elif isinstance(node, list):
            for value in node:
                yield from texts(value)

    yield from ((0, text.replace("_", " ")) for text in texts(json.loads(path.read_text(encoding="utf-8"))))


def _comments(path: Path) -> Iterator[tuple[int, str]]:
    """Comments, which is what the targets of the Makefile and the settings of the containers are explained by."""
    for number, line in _lines(path):
        yield number, line.partition("#")[2]


Reader = Callable[[Path], Iterator[tuple[int, str]]]
# What users see, surface by surface. Not here: text that is made to be read by parsers (the corpora's), texts of tests,
# docs/dev (our own notes), code and its docstrings.
_PACKAGES = (
    "core", "search", "sql", "monitoring", "dataset_gen", "queue_manager", "worker", "controller", "production", "replay",
    "traces", "packages", "experiments", "cli", "web", "scripts",
)  # fmt: skip
SURFACES: dict[str, tuple[Reader, tuple[str, ...]]] = {
    **{package: (_python, (f"{package}/**/*.py",)) for package in _PACKAGES},
    "templates of the web UI": (_template, ("web/templates/**/*.html", "packages/*/*/templates/*.html")),
    "scripts of the web UI": (_script, ("web/static/js/*.js",)),
    "profiles, protocols and sites": (
        _lines,
        ("core/filer/*/*.toml", "dataset_gen/profiles/*.toml", "packages/*/*/sites/*.toml"),
    ),
    "schemas": (_schema, ("docs/schemas/*.json",)),
    "README": (_page, ("README.md", "packages/*/README.md")),
    "docs": (_page, ("docs/**/*.md",)),
    "alerts": (_lines, ("monitoring/prometheus/rules/*.yml",)),
    "Makefile": (_comments, ("Makefile",)),
    "containers": (_comments, (".env.example", "docker-compose*.yml")),
}
# Content of generated corpora; texts that other programs print; SQL; examples.
_NOT_SHOWN = re.compile(
    r"^(docs/(dev|decisions)/|dataset_gen/(formats|material|languages|faults)/|sql/queries/|web/static/vendor/|packages/[^/]+/tests/)"
)


@cache
def hits(surface: str) -> tuple[str, ...]:
    """Each replaced word of a surface, as `path:line: word (the words to use): text`."""
    read, patterns = SURFACES[surface]
    out = []
    for path in sorted(path for pattern in patterns for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        if _NOT_SHOWN.match(name):
            continue
        for line, text in read(path):
            for found in WORDS.finditer(text):
                instead = list(REPLACED.values())[int(str(found.lastgroup)[1:])]
                out.append(f"{name}:{line}: {found[0]!r} ({instead}): {' '.join(text.split())[:160]}")
    return tuple(out)


@pytest.mark.parametrize("surface", SURFACES)
def test_users_read_no_replaced_words(surface: str) -> None:
    assert "\n".join(hits(surface)) == ""


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("core/a.py", 'def f():\n    """Told."""\n    raise X(f"{f} says so")  # tells\n', [3]),
        ("core/a.py", 'KEYS = {"processor": 1, "UNPAIRED": 2}', [1]),
        ("cli/a.py", 'def f(ctx: typer.Context) -> None:\n    """Tell it."""\n', [1]),
        ("web/static/js/a.js", "// told\nconst a = `nobody ${told} is here`;\nconst b = 'told';\n", [2]),
        ("web/templates/a.html", '{# told #}\n<p class="told told">it lies here</p>\n', [2]),
        ("docs/a.md", '`told` and ``\n\n```\ntold\n```\nHe wrote "told", it is made up.\n', [6]),
        ("Makefile", "a: told ## mend it\n", [1]),
    ],
)
def test_words_are_found_where_users_read_them(name: str, text: str, lines: list[int], tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    read = next(
        read
        for read, patterns in SURFACES.values()
        if any(Path(name).match(pattern.replace("**/", "")) for pattern in patterns)
    )
    assert [line for line, text in read(path) if WORDS.search(text)] == lines
