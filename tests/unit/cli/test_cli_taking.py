"""What an order's model refuses, the command line refuses: every command that is made from one, every field of it."""

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args

import pytest
import typer
from every_command import every_command, every_registered, records
from pydantic import AfterValidator, Field
from pydantic.fields import FieldInfo
from typer.main import get_command

from cli.main import USAGE, main
from cli.tree import taking
from core.document import Order
from core.errors import UsageError

# A command reads its settings first: one that gets that far has taken its options, and starts nothing.
STOP = {"EDBENCH_SLOTS": "stop"}
NEEDED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("corpus", "generate"): (
        "c",
        "--profile=EDBENCH_SLOTS",
    ),  # it needs no settings: this profile is refused in their place
    ("discover",): ("source",),
    ("produce", "text"): ("last", "--out=out"),
    ("produce", "images"): ("last", "--out=out"),
    ("produce", "export"): ("last", "--out=out"),
    ("bench", "scale-up"): ("--corpus=corpus",),
    ("bench", "scale-out"): ("--corpus=corpus",),
    ("bench", "knee"): ("--corpus=corpus", "--max-p99=read=20ms"),
    ("bench", "job-types"): ("--corpus=corpus",),
    ("bench", "tune"): ("--corpus=corpus",),
    ("bench", "sweep"): ("--corpus=corpus",),
    ("bench", "day"): ("--corpus=corpus",),
    ("bench", "r1"): ("--corpus=corpus",),
    ("bench", "plan"): (),
    ("bench", "storage"): ("stream",),
    ("simulate",): ("EDBENCH_SLOTS",),  # nor does it: this site is refused
    ("trace", "replay"): ("trace", "--path=path"),
    ("serve",): (),
}
for _words in NEEDED.keys() - dict(every_command()).keys():
    del NEEDED[_words]  # its package is not installed


@functools.cache
def _made() -> dict[tuple[str, ...], list[tuple[str, FieldInfo]]]:
    """The commands that are made from orders, and the fields of each that are its options."""
    made = {}
    commands = dict(every_command())
    for words, registered, _ in every_registered():
        fields = [(name, info) for kind in records(registered) for name, info in kind.model_fields.items()]
        if fields:
            there = {option.name: option for option in commands[words].params}
            made[words] = [
                (name, info)
                for name, info in fields
                if (option := there.get(name)) is not None  # of an order some, and others of the same name
                and info.description in (None, option.help)
                and (info.is_required() or option.default == info.default)
            ]
    return made


def _beyond(info: FieldInfo) -> Iterator[str]:
    """Values just outside what a field takes."""
    kinds = (info.annotation, *get_args(info.annotation))
    step = 1 if int in kinds else 1e-12
    if float in kinds:
        yield from ("nan", "inf", "-inf")
    outside: dict[str, Callable[[Any], tuple[object, ...]]] = {
        "ge": lambda least: (least - step,),
        "gt": lambda under: (under,),
        "le": lambda most: (most + 1,),
        "lt": lambda over: (over,),
        "min_length": lambda least: ("x" * (least - 1),),
        "max_length": lambda most: ("x" * (most + 1),),
        "pattern": lambda _: ("x\0", "x\udce9"),  # the latter: what Python makes of a byte that is no UTF-8
    }
    for one in info.metadata:
        for bound, values in outside.items():
            if hasattr(one, bound):
                yield from map(str, values(getattr(one, bound)))


def _reported(words: tuple[str, ...], *options: str) -> list[str]:
    return [*words, *NEEDED[words], *options]


def test_every_command_that_is_made_from_an_order_is_attacked() -> None:
    assert _made().keys() == NEEDED.keys()
    assert all([value for _, info in fields for value in _beyond(info)] for fields in _made().values())


@pytest.mark.parametrize("words", NEEDED, ids=" ".join)
def test_what_a_command_does_by_default_is_allowed(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_reported(words), STOP) == USAGE
    assert "EDBENCH_SLOTS" in capsys.readouterr().err


@pytest.mark.parametrize("words", NEEDED, ids=" ".join)
def test_what_is_out_of_bounds_is_refused_by_its_option(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    attacks = [(f"--{name.replace('_', '-')}", value) for name, info in _made()[words] for value in _beyond(info)]
    for option, value in attacks:
        what = f"{option}={value[:40]!r}"
        assert main(_reported(words, f"{option}={value}"), STOP) == USAGE, what
        shown = capsys.readouterr().err
        assert option in shown, (what, shown)
        assert "EDBENCH_SLOTS" not in shown, (what, shown)
        assert len(shown.splitlines()) == 1, (what, shown)
        assert len(shown) < 500, what


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        (("produce", "export"), "--prefix", "1A"),
        (("produce", "export"), "--prefix", "A0"),  # with seven digits, its numbers are those of A with eight
        (("produce", "export"), "--prefix", "A B"),
        (("produce", "export"), "--prefix", "Ä"),
        (("bench", "storage"), "--scale", "nan"),
        (("bench", "knee"), "--hosts-wait", "inf"),
    ],
)
def test_what_no_bound_states_is_refused_too(
    words: tuple[str, ...], option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_reported(words, f"{option}={value}"), STOP) == USAGE
    shown = capsys.readouterr().err
    assert option in shown
    assert "EDBENCH_SLOTS" not in shown


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("take an even number")
    return value


class Bounded(Order):
    """Bounds of all kinds, of which the command line knows none itself."""

    above: Annotated[float, Field(gt=0)] = 1.0
    below: Annotated[float, Field(lt=10)] = 1.0
    steps: Annotated[int, Field(multiple_of=4)] = 4
    evens: Annotated[int, AfterValidator(_even)] = 2


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("above", "0", "greater than 0"),
        ("below", "10", "less than 10"),
        ("above", "nan", "finite"),
        ("below", "-inf", "finite"),
        ("steps", "6", "multiple of 4"),
        ("evens", "3", "take an even number"),
    ],
)
def test_whatever_a_model_checks_is_checked(option: str, value: str, message: str) -> None:
    heard: list[Bounded] = []

    def command(*, order: Bounded) -> None:
        """Hear it."""
        heard.append(order)

    app = typer.Typer()
    app.command()(taking(command, {"Bounded": Bounded}, {}))
    with pytest.raises(UsageError, match=rf"^--{option}: .*{message}") as refused:
        get_command(app)(args=[f"--{option}={value}"], standalone_mode=False)
    assert refused.value.field == option
    get_command(app)(args=["--above=0.5", "--steps=8"], standalone_mode=False)
    assert heard == [Bounded(above=0.5, steps=8)]
