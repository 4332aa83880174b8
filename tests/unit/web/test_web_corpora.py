"""No path that a client gives leads outside the roots."""

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import UsageError
from core.settings import Settings
from web.context import WebContext
from web.errors import FieldErrors
from web.results import allowed_output, allowed_path, chosen_source, list_corpora, read_corpora
from web.runs import CommandRunner
from web.token import Door


@pytest.fixture
def context(tmp_path: Path) -> WebContext:
    """A storage root with a corpus in it, and a place with data beside it."""
    for corpus in ("storage/corpora/c", "storage/jobs/not-a-corpus", "storage/deep/er/d", "outside"):
        (tmp_path / corpus / "data").mkdir(parents=True)
        (tmp_path / corpus / "manifest.parquet").touch()
    (tmp_path / "place/ann").mkdir(parents=True)
    (tmp_path / "place/.hidden").mkdir()
    (tmp_path / "storage/corpora/link").symlink_to(tmp_path / "outside")
    (tmp_path / "place/up").symlink_to("..")
    return WebContext(
        settings=Settings(storage=tmp_path / "storage"),
        databases=(),
        embedded=True,
        runner=CommandRunner(),
        door=Door("the token of these tests"),
        corpora=(tmp_path / "place",),
    )


def test_what_is_listed_can_be_chosen(context: WebContext, tmp_path: Path) -> None:
    listed = {corpus.id: Path(corpus.path) for corpus in list_corpora(context)}
    assert listed == {
        "0:corpora/c": tmp_path / "storage/corpora/c",
        "0:deep/er/d": tmp_path / "storage/deep/er/d",
        "1:ann": tmp_path / "place/ann",
    }
    for identity, path in listed.items():
        assert chosen_source(context, identity, None) == path
        assert chosen_source(context, None, str(path)) == path


@pytest.mark.parametrize(
    "corpus",
    ["0:", "0:..", "0:corpora/../../outside", "1:../outside", "0:corpora/link", "7:ann", "", "0:corpora/c/", "/"],
)
def test_what_is_not_listed_cannot(context: WebContext, corpus: str) -> None:
    with pytest.raises(FieldErrors) as raised:
        chosen_source(context, corpus, None)
    assert list(raised.value.errors) == ["corpus"]


@pytest.mark.parametrize(
    "below",
    ["outside", "storage/../outside", "storage/corpora/link", "place/up/outside", "storage-beside", "", "place/up"],
)
def test_a_typed_path_has_to_resolve_below_a_root(context: WebContext, tmp_path: Path, below: str) -> None:
    with pytest.raises(FieldErrors, match="EDBENCH_CORPORA"):
        chosen_source(context, None, f"{tmp_path}/{below}")


@pytest.mark.parametrize("below", ["outside/x", "storage/../x", "storage/corpora/link/x", "place/x", "storage-beside"])
def test_an_output_has_to_resolve_below_the_places_of_productions(
    context: WebContext, tmp_path: Path, below: str
) -> None:
    """Which are others than those of sources; there it need not be yet."""
    with pytest.raises(FieldErrors, match="EDBENCH_PRODUCTIONS"):
        allowed_output(context, f"{tmp_path}/{below}")
    theirs = dataclasses.replace(context, productions=(tmp_path / "outside",))
    assert allowed_output(theirs, f"{tmp_path}/storage/corpora/link/x") == tmp_path / "outside/x"


def test_exactly_one_of_the_two_is_given(context: WebContext) -> None:
    for corpus, source in ((None, None), ("0:corpora/c", "/")):
        with pytest.raises(FieldErrors, match="choose a corpus or enter a directory"):
            chosen_source(context, corpus, source)


_PARTS = st.sampled_from(
    ["..", ".", "", "storage", "place", "up", "link", "corpora", "outside", "etc", "~", "\u202e", "c"]
)


@settings(suppress_health_check=list(HealthCheck))
@given(st.one_of(st.lists(_PARTS, max_size=8).map("/".join), st.text(max_size=40)))
def test_no_text_leads_out(context: WebContext, text: str) -> None:
    base = str(context.settings.storage.parent)
    for typed in (text, f"/{text}", f"{base}/storage/{text}", f"{base}/place/{text}"):
        try:
            allowed = allowed_path(context, typed)
        except FieldErrors:
            continue
        real = os.path.realpath(allowed)
        assert real == str(allowed)
        assert real.startswith((f"{base}/storage", f"{base}/place"))
        assert real in (f"{base}/storage", f"{base}/place") or real.startswith((f"{base}/storage/", f"{base}/place/"))


def test_the_variable_names_directories(tmp_path: Path) -> None:
    """Separated by colons; anything else is refused with the variable's name."""
    assert read_corpora({}) == ()
    assert read_corpora({"EDBENCH_CORPORA": f"{tmp_path}:"}) == (tmp_path,)
    for wrong in ("relative", str(tmp_path / "gone")):
        with pytest.raises(UsageError, match="EDBENCH_CORPORA"):
            read_corpora({"EDBENCH_CORPORA": wrong})
