"""Compound files whose contents are not read: their properties, and the file in an OLE package."""

from __future__ import annotations

from collections.abc import Iterator

from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.office.ooxml import handler as ooxml
from readers.records import Kind, Limits, TextState


class StorageHandler(LeafHandler):
    """A Visio drawing, an installer, or another compound file of unknown kind."""

    name = "compound"
    whole = False
    declared = Declared(
        title="Visio drawings of Visio 2003 and older, installers, other compound files",
        extensions=("vsd", "vst", "msi", "db"),
        metadata=property_set.KEYS,
        children="the file in an OLE package",
        leaves_out=(
            "the text of Visio drawings of Visio 2003 and older and of installers: the state is `unsupported`",
            "encrypted Office documents without a matching password (`--passwords`)",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the file in an OLE package, or the children of an encrypted Office document; else nothing."""
        if ooxml.encrypted(source):
            yield from ooxml.OoxmlHandler().children(source, limits)
        elif source.size <= limits.parse_bytes and (
            unwrapped := ole_objects.unwrapped(source.whole(limits.parse_bytes))
        ):
            yield Child(name=unwrapped[0] or b"object-0", kind=Kind.EMBEDDED_OBJECT, ordinal=0, data=unwrapped[1])

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text, and the properties as metadata; for an encrypted Office document the result of `ooxml`."""
        if ooxml.encrypted(source):
            return ooxml.OoxmlHandler().text(source, limits)
        out = Text(state=TextState.UNSUPPORTED)
        if source.size <= limits.parse_bytes:
            try:
                compound = CompoundFile(source.whole(limits.parse_bytes))
                out.metadata = property_set.metadata(compound)
                if ole_objects.carried(compound, compound.root) is not None:  # raises DocumentError if it is cut short
                    out.state = TextState.EMPTY
            except DocumentError as failed:
                out.error = failed
        return out
