"""Every command of `edbench` with the words that it is called by."""

import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from cli.main import commands
from cli.tree import Registered, resolved


def every_registered() -> Iterator[tuple[tuple[str, ...], Registered, str]]:
    """The words, the command's function with its example, and the line of help where the list of the root has it."""
    for entry in commands():
        for module in entry.modules:
            for name, registered in import_module(module).commands.entries.items():
                yield ((entry.name, name), registered, "") if entry.group else ((name,), registered, entry.help)


@cache
def every_command() -> tuple[tuple[tuple[str, ...], Any], ...]:
    """The words and the command."""
    return tuple((words, registered.load(help)) for words, registered, help in every_registered())


def options(*words: str) -> dict[str, Any]:
    """Of a command, by name."""
    return {option.name: option for option in dict(every_command())[words].params}


def records(registered: Registered) -> Iterator[Any]:
    """The records that a command's options are made from."""
    own = inspect.signature(registered.function, eval_str=True, locals=resolved(registered.types)).parameters.values()
    return (each.annotation for each in own if hasattr(each.annotation, "model_fields"))
