"""Every reader takes time by the length of what it reads, which a file beside this one tests for each family of shapes:
one file for all would be what the whole suite waits for."""

from pathlib import Path

from shapes import FAMILIES, all_shapes

from readers.registry import all_handlers, handler_for


def test_every_reader_has_a_shape() -> None:
    covered = {handler_for(shape.media_type).name for shape in all_shapes()}
    assert [handler.name for handler in all_handlers() if handler.name not in covered] == []


def test_every_family_has_a_file() -> None:
    """Else its shapes would be tried by nobody."""
    own = Path(__file__)
    tried = {path.stem.removeprefix("test_") for path in own.parent.glob("test_*.py") if path != own}
    assert tried == {family.__name__.rpartition(".")[2] for family in FAMILIES}
