"""What is asked of a production: blank is not the same as not given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cli.main import USAGE, main
from core.job_types import JobType
from production.orders import ProductionOrder
from production.routes import NewProduction

_SAYS = {
    "query": "the query is empty; give at least one word, or * for everything",
    "tag": "the tag is empty",
    "images": "no job is named",
}


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize("field", list(_SAYS))
def test_a_blank_is_refused_by_its_field(
    field: str, blank: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable of a shell that is not set would produce everything there is: by the API, which the page asks, and by the
    command, before anything starts."""
    given: dict[str, Any] = {"type": "export", "sources": ["last"], "out": "/x", field: blank}
    with pytest.raises(ValidationError) as refused:
        NewProduction(**given)
    (error,) = refused.value.errors()
    assert error["loc"] == (field,)
    assert _SAYS[field] in error["msg"]
    out = tmp_path / "out"
    assert main(["produce", "export", "last", "--out", str(out), f"--{field}", blank], {"HOME": str(tmp_path)}) == USAGE
    shown = capsys.readouterr()
    assert (shown.out, out.exists()) == ("", False)
    assert f"--{field}: " in shown.err
    assert _SAYS[field] in shown.err


def test_what_is_not_given_chooses_everything() -> None:
    choice = ProductionOrder().choice(JobType.EXPORT, Path("/x"))
    assert (choice.query, choice.tag, choice.images) == ("", "", "")
    assert ProductionOrder(query=" * ", tag="hot").choice(JobType.EXPORT, Path("/x")).query == "*"
    assert NewProduction(type="export", sources=["last"], out="/x").images is None
