"""Text and children of bytes, by the handler of the media type that they are found to be or by a given one."""

from collections.abc import Callable

from core.records import Limits
from readers.base import Child, Handler, MemorySource, Part, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.registry import handler_for

_LIMITS = Limits()


def _handled(data: bytes, name: bytes, kind: str) -> tuple[Handler, MemorySource]:
    """The handler and the item; `kind` is how the media type must begin."""
    source = MemorySource(name, data)
    media_type = identify(source)
    assert media_type.startswith(kind)
    return handler_for(media_type), source


def text_of(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x", kind: str = "") -> Text:
    handler, source = _handled(data, name, kind)
    return handler.text(source, limits)


def children_of(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x", kind: str = "") -> list[Child]:
    handler, source = _handled(data, name, kind)
    return list(handler.children(source, limits))


def read_by(handler: Handler) -> tuple[Callable[..., Text], Callable[..., list[Child]]]:
    """Return two functions that read text and children of bytes by this handler."""

    def text(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x") -> Text:
        return handler.text(MemorySource(name, data), limits)

    def children(data: bytes, limits: Limits = _LIMITS, name: bytes = b"x") -> list[Child]:
        return list(handler.children(MemorySource(name, data), limits))

    return text, children


class Found:
    """Children of a container with their bytes, streams read to their end, and the error that ended them."""

    def __init__(
        self, handler: Handler, data: bytes, name: bytes = b"x", limits: Limits = _LIMITS, part: Part | None = None
    ) -> None:
        self.children: list[Child] = []
        self.bodies: list[bytes] = []
        self.error: DocumentError | None = None
        source = MemorySource(name, data)
        try:
            for child in handler.children(source, limits, part):
                self.children.append(child)
                self.bodies.append(child.data or b"")
                while child.stream is not None and (piece := child.stream.read(70_000)):
                    self.bodies[-1] += piece
        except DocumentError as error:
            self.error = error

    @property
    def code(self) -> ExceptionCode | None:
        """The code of the error."""
        return self.error and self.error.code

    @property
    def members(self) -> list[tuple[int, bytes, bytes]]:
        """Ordinal, name and bytes of each child without an exception."""
        both = zip(self.children, self.bodies, strict=True)
        return [(child.ordinal, child.name, body) for child, body in both if child.error is None]

    @property
    def by_name(self) -> dict[str, bytes]:
        """Bytes of each child without an exception."""
        return {name.decode(): body for _, name, body in self.members}

    @property
    def failed(self) -> list[tuple[int, ExceptionCode, bool]]:
        """Ordinal and code of each child with an exception, and whether it becomes an item."""
        return [(child.ordinal, child.error.code, child.emit) for child in self.children if child.error is not None]
