"""An option of a discovery is said once, in its order: the command, the API and the page have it from there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field
from typer.main import get_command

import web
from cli.experiments.studies import ALIKE, knee, scale_out, scale_up
from cli.jobs.discover import discover
from cli.system.inspect import inspect
from cli.taking import taking
from controller.jobs.orders import DiscoveryOrder, OperatorOrder
from core.records import JobOptions
from web.api.models.jobs import NewJob

FORM = Path(web.__file__).parent / "templates" / "jobs.html"
NOT_ON_THE_PAGE = {"client", "project"}


class Coloured(DiscoveryOrder):
    """With an option more."""

    colour: Annotated[int, Field(ge=1, le=9, description="what it looks like")] = 3


def options(function: Any) -> dict[str, Any]:
    """Of a command, by name."""
    app = typer.Typer()
    app.command()(function)
    return {option.name: option for option in get_command(app).params}


@pytest.mark.parametrize("name", OperatorOrder.model_fields)
def test_every_field_is_an_option_of_the_command(name: str) -> None:
    """With its help, its default and its bounds."""
    field, option = OperatorOrder.model_fields[name], options(discover)[name]
    assert option.opts == [f"--{name.replace('_', '-')}"]
    assert option.help.startswith(field.description)
    assert option.default == field.default
    for key, bound in (("ge", "min"), ("le", "max")):
        wanted = next((getattr(each, key) for each in field.metadata if hasattr(each, key)), None)
        assert getattr(option, bound, None) == wanted


@pytest.mark.parametrize("name", DiscoveryOrder.model_fields)
def test_every_field_that_anybody_may_say_is_the_apis_and_the_pages(name: str) -> None:
    """The model's schema has it, and the form a field."""
    schema = NewJob.model_json_schema()["properties"]
    assert schema[name]["description"]
    assert (f'"{name}"' in FORM.read_text(encoding="utf-8")) == (name not in NOT_ON_THE_PAGE)


def test_studies_have_what_they_do_alike_in_the_words_of_the_order() -> None:
    """And nothing else of it; so does what else takes a part of it, and `inspect`, which repeats two."""
    whole = options(discover)
    for function, names in ((scale_up, ALIKE), (scale_out, (*ALIKE, "shard")), (knee, ALIKE)):
        taken = options(function)
        assert {name for name in OperatorOrder.model_fields if name in taken} - {"databases", "source_copies"} == set(
            names
        )
        assert all(taken[name].help == whole[name].help for name in names)
    assert all(options(inspect)[name].help == whole[name].help for name in ("ocr", "ocr_languages"))


def test_a_new_field_is_an_option_and_a_part_of_the_body_without_more() -> None:
    """Two places are edited for a new option: the order, and where it acts."""

    heard: list[Coloured] = []

    @taking()
    def paint(*, order: Coloured) -> None:
        """Paint."""
        heard.append(order)

    option = options(paint)["colour"]
    assert (option.opts, option.help, option.min, option.max) == (["--colour"], "what it looks like", 1, 9)
    paint(**{name: field.default for name, field in Coloured.model_fields.items()} | {"colour": 5})
    assert heard == [Coloured(colour=5)]
    assert Coloured.model_json_schema()["properties"]["colour"]["maximum"] == 9


def test_the_orders_defaults_are_a_jobs() -> None:
    """What nobody asked for is as it is without an order."""
    kept = JobOptions()
    order = OperatorOrder()
    assert (order.single_pass, order.fsync, order.layout, order.trace) == (
        kept.single_pass, kept.fsync, kept.layout, kept.trace,
    )  # fmt: skip
    assert (order.max_depth, order.parse_mb * 1_000_000) == (kept.limits.depth, kept.limits.parse_bytes)
