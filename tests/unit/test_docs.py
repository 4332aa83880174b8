"""The documentation: links and anchors lead somewhere, commands and options exist, and pages stay short."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from every_command import every_command
from markdown_it import MarkdownIt

from readers.errors import ExceptionCode

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DEV = sorted((DOCS / "dev").rglob("*.md"))
USER = sorted(set(DOCS.rglob("*.md")) - set(DEV))
PAGES = [*sorted(ROOT.glob("*.md")), *USER, *DEV, *sorted((ROOT / "plugins").rglob("*.md"))]
COMMANDS = DOCS / "commands.md"
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_IMAGE = re.compile(r'<img[^>]* src="([^"]+)"')


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The ids that GitHub gives to the headings."""
    met: Counter[str] = Counter()
    found = set()
    tokens = _MARKDOWN.parse(page.read_text(encoding="utf-8"))
    for opened, text in pairwise(tokens):
        if opened.type == "heading_open":
            plain = "".join(part.content for part in text.children or () if part.type in ("text", "code_inline"))
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            found.add(f"{slug}-{met[slug]}" if met[slug] else slug)
            met[slug] += 1
    return frozenset(found)


def _links(page: Path) -> Iterator[str]:
    for token in _MARKDOWN.parse(page.read_text(encoding="utf-8")):
        for part in token.children or ():
            target = part.attrGet("href") or part.attrGet("src")
            if target:
                yield str(target)
            yield from _IMAGE.findall(part.content if part.type == "html_inline" else "")
        yield from _IMAGE.findall(token.content if token.type == "html_block" else "")


def _broken(page: Path) -> Iterator[str]:
    for link in _links(page):
        path, _, anchor = unquote(link).partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_and_anchors_exist(page: Path) -> None:
    assert list(_broken(page)) == []


def test_files_that_contributing_names_exist() -> None:
    """All but that of its example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.(?:py|md|toml))`", text)
    assert [name for name in named if not (ROOT / name).exists()] == ["experiments/workloads/listing.py"]


def test_pages_that_the_code_names_exist() -> None:
    sources = (
        path for path in ROOT.iterdir() if path.is_dir() and path.name not in ("docs", "tests") and path.name[0] != "."
    )
    named = {
        (_name(file), page)
        for source in sources
        for file in source.rglob("*.py")
        for page in re.findall(r"\bdocs/[\w/.-]+\.md|\bdocs/decisions\b", file.read_text(encoding="utf-8"))
    }
    assert sorted(one for one in named if not (ROOT / one[1]).exists()) == []


def test_every_user_page_is_in_the_index() -> None:
    index = {(DOCS / link.partition("#")[0]).resolve() for link in _links(DOCS / "README.md")}
    assert [_name(page) for page in USER if page not in index and page.name != "README.md"] == []


@pytest.fixture(scope="module")
def commands() -> dict[tuple[str, ...], Any]:
    """Each with the words that it is called by."""
    return dict(every_command())


def _code(page: Path) -> Iterator[str]:
    """Lines of code blocks, joined where they are continued, and code within the text."""
    for token in _MARKDOWN.parse(page.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield from re.sub(r"\\\n\s*", " ", token.content).splitlines()
        yield from (part.content for part in token.children or () if part.type == "code_inline")


_CALL = re.compile(r"(?:^|(?<=[ $/(]))edbench ((?:[a-z][a-z0-9-]* )*[a-z][a-z0-9-]*.*)")


def _called(page: Path) -> Iterator[list[str]]:
    """The words after each `edbench` that is followed by a command."""
    for line in _code(page):
        for found in _CALL.findall(line.replace("…", " ").partition(" #")[0]):
            first = re.split(r"&&|\||;|>", found)[0]
            try:
                yield shlex.split(first)
            except ValueError:
                yield first.split()


def _wrong(words: list[str], commands: dict[tuple[str, ...], Any]) -> str:
    """What is wrong with a line, or nothing. A group alone, and alternatives with `|`, are no calls."""
    known = next((tuple(words[:n]) for n in (3, 2, 1) if tuple(words[:n]) in commands), None)
    if known is None:
        plain = tuple(word for word in words[:2] if re.fullmatch(r"[a-z0-9-]+", word))
        return "" if any(each[: len(plain)] == plain for each in commands) else f"no command {' '.join(words[:2])}"
    options = {name for each in commands[known].params for name in (*each.opts, *each.secondary_opts)} | {
        "--help",
        "-h",
    }
    rest = words[len(known) :]
    if "--" in rest:
        rest = rest[: rest.index("--")]
    given = [re.split(r"[=|\]]", word.lstrip("["))[0] for word in rest if re.match(r"\[?-{1,2}[a-z]", word)]
    return ", ".join(f"{' '.join(known)} has no {option}" for option in given if option not in options)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *USER], ids=_name
)
def test_what_is_typed_exists(page: Path, commands: dict[tuple[str, ...], Any]) -> None:
    assert [wrong for words in _called(page) if (wrong := _wrong(words, commands))] == []


@pytest.mark.parametrize("script", ["calibration.py", "demo.py"])
def test_options_that_scripts_give_exist(script: str, commands: dict[tuple[str, ...], Any]) -> None:
    source = (ROOT / "scripts" / script).read_text(encoding="utf-8")
    given = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", source)) - set(
        re.findall(r'add_argument\("(--[a-z-]+)"', source)
    )
    known = {option for command in commands.values() for parameter in command.params for option in parameter.opts}
    assert "--corpus" in given
    assert given <= known


def test_every_command_is_documented(commands: dict[tuple[str, ...], Any]) -> None:
    """In the list of commands, by a row of its own; nothing else is in it."""
    rows = re.findall(
        r"^\| `edbench ([a-z0-9 -]+?)(?: [^a-z0-9 -].*?| [A-Z].*?| -.*?)?` \|", COMMANDS.read_text(), re.MULTILINE
    )
    assert sorted(rows) == sorted(" ".join(words) for words in commands)


def _words(pages: list[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_nothing_is_too_long() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    assert _words(USER) <= 45_000
    assert _words(DEV) <= 60_000
    assert _words([DOCS / "design.md"]) <= 4_000


def test_decisions_have_numbers_and_those_mentioned_exist() -> None:
    """`decision 41` in code or docs is a section of the page of decisions."""
    known = [
        int(number) for number in re.findall(r"^## (\d+)\. ", (DOCS / "dev/decisions.md").read_text(), re.MULTILINE)
    ]
    assert known == sorted(set(known))
    sources = (path for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists())
    texts = [*PAGES, *(file for source in sources for file in source.rglob("*.py"))]
    mentioned = {
        (_name(text), int(number))
        for text in texts
        for number in re.findall(r"[Dd]ecision (\d{1,4})\b", text.read_text(encoding="utf-8"))
    }
    assert sorted(one for one in mentioned if one[1] not in known) == []


def test_every_exception_code_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "exceptions.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [code.value for code in ExceptionCode]


def test_addresses_of_the_api_exist() -> None:
    from fastapi import FastAPI  # takes a second

    from web.api.routes import api_router

    app = FastAPI()
    app.include_router(api_router())
    known = [re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))) for path in app.openapi()["paths"]]
    asked = re.findall(r"localhost:8080(/api/v1/[^\s'?]+)", (DOCS / "web.md").read_text(encoding="utf-8"))
    assert asked
    assert [path for path in asked if not any(each.fullmatch(path) for each in known)] == []
