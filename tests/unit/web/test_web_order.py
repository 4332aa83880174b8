"""An option of a discovery is said once, in its order: command, API, page, settings and job have it from there."""

import dataclasses
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated

import pytest
from every_command import options
from pydantic import Field

from cli.tree import Registered
from controller.jobs.orders import DiscoveryOrder, OperatorOrder
from core.document import bounds
from core.errors import UsageError
from core.records import FsyncPolicy, JobOptions, Layout, Priority, TaskOrder
from core.settings import Settings
from experiments.orders import ALIKE
from web.api.models.jobs import NewJob
from web.api.system import Choices
from web.measuring import Kind, kinds
from web.pages.form import connected, inputs
from web.pages.render import environment

SETTINGS = Path(__file__).parents[3] / "docs" / "settings.md"
MANY = 100  # databases: more than an order may name
CHOICES = Choices(
    embedded=True, creating=True, databases=[f"db{n}" for n in range(MANY)], workers=2, slots=4, room=8,
    index_engines=["tantivy", "whoosh"], index_engine="whoosh", filers=["none", "titan"], filer="titan",
    fsync=list(FsyncPolicy), layouts=list(Layout),
)  # fmt: skip
FORM = '{% import "macros.html" as ui %}{% for input in form %}{{ ui.input(input) }}{% endfor %}'


class Coloured(DiscoveryOrder):
    """With an option more."""

    colour: Annotated[int, Field(ge=1, le=9, description="what it looks like")] = 3


class Painted(NewJob):
    """The same over the API."""

    colour: Annotated[int, Field(ge=1, le=9, description="what it looks like")] = 3


class Form(HTMLParser):
    """What a browser would make of the form: attributes by id, and the text of each label and hint by its field."""

    def __init__(self, model: type[NewJob]) -> None:
        super().__init__()
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.texts: dict[str, str] = {}
        self._field = ""
        self.feed(environment().from_string(FORM).render(form=inputs(model, CHOICES)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        name = of.get("name")
        if name is not None:
            assert of["id"] == f"f-{name}"
            self.inputs[name] = of | {"tag": tag}
        self._field = (of.get("for") or of.get("id") or "").partition("-")[2]
        if tag == "option" and "selected" in of:
            self.inputs[next(reversed(self.inputs))]["value"] = of["value"]

    def handle_data(self, data: str) -> None:
        self.texts[self._field] = self.texts.get(self._field, "") + data


@pytest.mark.parametrize("name", OperatorOrder.model_fields)
def test_every_field_is_an_option_of_the_command(name: str) -> None:
    field, option = OperatorOrder.model_fields[name], options("discover")[name]
    assert option.opts == [f"--{name.replace('_', '-')}"]
    assert option.help.startswith(field.description)
    assert option.default == field.default
    for key, bound in (("ge", "min"), ("le", "max")):
        wanted = next((getattr(each, key) for each in field.metadata if hasattr(each, key)), None)
        assert getattr(option.type, bound, None) == wanted


@pytest.mark.parametrize("name", DiscoveryOrder.model_fields)
def test_every_field_that_anybody_may_say_is_the_apis_and_the_pages(name: str) -> None:
    field, form = DiscoveryOrder.model_fields[name], Form(NewJob)
    schema = NewJob.model_json_schema()["properties"][name]
    assert schema["description"] == field.description
    limits = schema | next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), {})
    shown = form.inputs[name]
    for bound, in_schema, in_form in (
        *(("ge", "minimum", "min"), ("le", "maximum", "max"), ("max_length", "maxLength", "maxlength")),
    ):
        wanted = bounds(field).get(bound)
        assert limits.get(in_schema) == wanted
        assert shown["tag"] == "select" or shown.get(in_form) == (None if wanted is None else str(wanted))
    help_text, _, default = str(field.description).partition("  [default: ")
    assert help_text in form.texts[name]
    assert shown["tag"] == "select" or default.removesuffix("]") in form.texts[name]
    given = {"index_engine": "whoosh", "filer": "titan"}.get(name, field.default)
    checked = shown.get("type") == "checkbox"
    assert (shown.get("checked") is not None) == given if checked else (shown.get("value") or "") == str(given or "")


@pytest.mark.parametrize("name", OperatorOrder.model_fields)
def test_every_field_has_its_line_in_the_settings(name: str) -> None:
    option = f"| `--{name.replace('_', '-')}` |"
    line = next(line for line in SETTINGS.read_text(encoding="utf-8").splitlines() if line.startswith(option))
    field = OperatorOrder.model_fields[name]
    help_text, _, default = str(field.description).partition("  [default: ")
    assert line.endswith(f" | {help_text} |")
    assert all(f"{bound:,}" in line for bound in bounds(field).values())
    assert (f"| `{name}` |" in line) == (name in DiscoveryOrder.model_fields)
    assert ("EDBENCH_" in default) == ("EDBENCH_" in line)


def test_a_form_offers_workers_where_the_server_starts_them() -> None:
    others = {each.name for each in inputs(NewJob, CHOICES.model_copy(update={"embedded": False}))}
    all_here = {each.name: each for each in inputs(NewJob, CHOICES.model_copy(update={"databases": ["a", "b"]}))}
    assert all_here.keys() - others == {"workers", "slots"}
    assert all_here.keys() == NewJob.model_fields.keys() - {"corpus", "source"}
    assert (all_here["databases"].attributes["max"], "2 available" in all_here["databases"].hint) == (2, True)


def test_what_an_order_and_a_job_call_alike_is_handed_on() -> None:
    given = {
        "single_pass": True, "fsync": FsyncPolicy.FILE, "layout": Layout.PER_WORKER, "trace": True,
        "lease_seconds": 7.0, "dispatch_seconds": 9.0, "index_streams": 2,
        "priority": Priority.HIGH, "time_zone": "Europe/Berlin", "batch_files": 7, "task_order": TaskOrder.FAIR,
        "window_factor": 2, "most_tasks": 4, "reserve_slots": 1,
    }  # fmt: skip
    alike = {field.name for field in dataclasses.fields(JobOptions)} & OperatorOrder.model_fields.keys()
    translated = {"index_engine", "filer", "ocr", "phase_slots", "fail_if"}
    assert alike - translated == given.keys()
    made = OperatorOrder(**given, max_depth=3).job_options(Settings(index_engine="whoosh"))
    assert {name: getattr(made, name) for name in given} == given
    assert (made.index_engine, made.limits.depth) == ("whoosh", 3)
    assert NewJob(passwords=["secret"], workers=3).job_options(Settings()) == JobOptions()


@pytest.mark.parametrize("order", [OperatorOrder, NewJob])
def test_a_zone_that_is_none_is_refused_before_anything_starts(order: type[DiscoveryOrder]) -> None:
    with pytest.raises(UsageError, match=r"there is no zone 'Europe/Belin'; did you mean Europe/Berlin\?") as refused:
        order(time_zone="Europe/Belin").plan(Settings())
    assert refused.value.field == "time_zone"


def test_studies_have_what_they_do_alike_in_the_words_of_the_order() -> None:
    """And nothing else of it; so does what else takes a part of it, and `inspect`, which repeats two."""
    whole = options("discover")
    for study, names in (("scale-up", ALIKE), ("scale-out", (*ALIKE, "shard")), ("knee", ALIKE)):
        taken = options("bench", study)
        assert {name for name in OperatorOrder.model_fields if name in taken} - {
            "databases",
            "source_copies",
            "fail_if",
        } == set(names)
        assert all(taken[name].help == whole[name].help for name in names)
    assert all(options("inspect")[name].help == whole[name].help for name in ("ocr", "ocr_languages"))


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.name)
def test_the_form_of_a_measurement_leaves_out_what_its_command_chooses(kind: Kind) -> None:
    """The workers of this server are no default of `bench r1`, whose --workers is N,M."""
    form = {each.name: each for each in inputs(kind.model, CHOICES)}
    named = {name for name, field in kind.model.model_fields.items() if "[default:" in (field.description or "")}
    assert [name for name in ("workers", "slots") if name in named & form.keys() and form[name].value is not None] == []


def test_a_scale_up_ends_with_the_workers_that_are_connected() -> None:
    """In containers a first press of the button would be refused for workers that are not there."""
    form = inputs(kinds()["scale-up"].model, CHOICES)
    shown = {many: {each.name: each.value for each in connected(form, many)}["workers"] for many in (1, 3, 4, 16)}
    assert shown == {1: "1,2,4,8", 3: "1,2,3", 4: "1,2,4", 16: "1,2,4,8"}


def test_a_new_field_is_an_option_and_a_part_of_the_body_without_more() -> None:
    heard: list[Coloured] = []

    def paint(*, order: Coloured) -> None:
        """Paint."""
        heard.append(order)

    loaded = Registered("paint", paint, "edbench paint", (f"{__name__}:Coloured",), {}).load()
    option = {each.name: each for each in loaded.params}["colour"]
    assert (option.opts, option.help, option.type.min, option.type.max) == (["--colour"], "what it looks like", 1, 9)
    loaded(args=["--colour=5"], standalone_mode=False)
    assert heard == [Coloured(colour=5)]
    assert Coloured.model_json_schema()["properties"]["colour"]["maximum"] == 9
    shown = Form(Painted)
    assert {key: shown.inputs["colour"][key] for key in ("type", "min", "max", "value")} == {
        "type": "number", "min": "1", "max": "9", "value": "3",
    }  # fmt: skip
    assert "what it looks like" in shown.texts["colour"]


def test_the_orders_defaults_are_a_jobs() -> None:
    kept = JobOptions()
    order = OperatorOrder()
    assert (order.single_pass, order.fsync, order.layout, order.trace) == (
        kept.single_pass, kept.fsync, kept.layout, kept.trace,
    )  # fmt: skip
    assert (order.max_depth, order.parse_mb * 1_000_000) == (kept.limits.depth, kept.limits.parse_bytes)
