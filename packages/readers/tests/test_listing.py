"""docs/formats.md is what the handlers declare, and what they declare is what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.formats import page
from cli.main import OK, USAGE, main
from core.records import Limits
from dataset_gen import faults
from dataset_gen.profile import load_profile
from dataset_gen.workshop import BUILDERS, Workshop, extension
from readers.base import MemorySource, Text
from readers.declared import Declared
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.keys import misfits
from readers.listing import STATES, listed
from readers.records import TextState
from readers.registry import all_handlers, handler_for

REPOSITORY = Path(__file__).parents[3]
REAL = REPOSITORY.parent / "shared/data/real-files"
_MOST = 100_000  # bytes of a real file that is looked at here


def test_the_page_is_what_the_handlers_declare() -> None:
    """After a change of a handler's declaration: `make formats-page`."""
    assert (REPOSITORY / "docs/formats.md").read_text() == page()


def test_every_text_state_is_explained() -> None:
    assert set(STATES) == set(TextState)


def test_titles_are_distinct() -> None:
    titles = [one.declared.title for one in listed(all_handlers())]
    assert len(set(titles)) == len(titles)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`edbench formats` lists them; a word asks for details by extension, media type or title."""
    assert main(["formats"], {}) == OK
    assert "OpenDocument" in capsys.readouterr().out
    for word in (".PST", "application/vnd.ms-outlook-pst", "mail stores"):
        assert main(["formats", word], {}) == OK
        assert "Left out" in capsys.readouterr().out
    assert main(["formats", "nonesuch"], {}) == USAGE


def _files() -> list[tuple[str, bytes, bytes]]:
    """(id, name, bytes) of real files and of one made document of each kind."""
    real = sorted(p for p in REAL.rglob("*") if p.is_file() and p.stat().st_size <= _MOST)
    shop = Workshop(load_profile("reference"), 3, 0.001)
    made = [(f"{fmt}.{extension(fmt)}", shop.document(fmt, f"listing/{fmt}", 3_000).data) for fmt in BUILDERS if fmt not in faults.BUILDERS]  # fmt: skip
    return [(str(p.relative_to(REAL)), p.name.encode(), p.read_bytes()) for p in real] + [
        (name, name.encode(), data) for name, data in made
    ]


def _declared(media_type: str) -> Declared | None:
    return next((one.declared for one in listed(all_handlers()) if media_type in one.media_types), None)


def _wrong(name: bytes, data: bytes) -> list[str]:
    """What comes out of a file and is not declared for its format."""
    source = MemorySource(name, data)
    media_type = identify(source)
    declared = _declared(media_type)
    if declared is None or not data:
        return []
    handler = handler_for(media_type)
    try:
        found = handler.text(source, Limits())
    except DocumentError:
        found = Text()
    out = [f"metadata {what}" for what in misfits(found.metadata)]
    out += [f"key {key}" for key in found.metadata if key not in declared.metadata]
    if found.text and not declared.text:
        out.append("text")
    try:
        if not declared.children and next(handler.children(source, Limits()), None) is not None:
            out.append("children")
    except DocumentError:
        pass
    return out


def test_what_comes_out_is_declared() -> None:
    """Of real files and of made ones: no metadata key, text or child that the page does not tell of, and every value
    is what the table of keys says."""
    wrong = {ident: found for ident, name, data in _files() if (found := _wrong(name, data))}
    assert wrong == {}
