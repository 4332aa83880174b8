"""What a worst shape is: bytes that grow with a number, for the reader of one media type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core.records import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`make(2 * n)` has about twice the bytes of `make(n)`, and may take at most 2.5 times as long to read."""

    name: str
    media_type: str
    make: Callable[[int], bytes]
    n: int  # where to begin: so large that what is not linear shows
    file_name: bytes = b"file"
    limits: Limits = field(default_factory=Limits)
    lowered: tuple[tuple[str, int], ...] = ()  # limits of the reader (dotted path) that are lower while it is measured

    def __str__(self) -> str:
        return f"{self.media_type.rpartition('/')[2]}: {self.name}"


def shapes(media_type: str, *rows: tuple[str, int, Callable[[int], bytes]], **more: object) -> Sequence[Shape]:
    """Several of one media type: (name, n, make) each."""
    return [Shape(name=name, media_type=media_type, make=make, n=n, **more) for name, n, make in rows]  # type: ignore[arg-type]
