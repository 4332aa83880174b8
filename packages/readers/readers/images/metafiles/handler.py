"""Metafiles (EMF, WMF): the text in them; drawings are not text."""

from __future__ import annotations

from collections.abc import Iterator

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, unsupported
from readers.images.metafiles import emf, wmf
from readers.images.metafiles.emf import EmfReader
from readers.images.metafiles.lines import Lines
from readers.records import Kind, Limits, TextState


class MetafileHandler(LeafHandler):
    """Enhanced and Windows metafiles."""

    name = "metafile"
    declared = Declared(
        title="Metafiles (EMF, WMF)",
        extensions=("emf", "wmf"),
        text="the characters that the records draw, in their order; characters at the same height form a line",
        metadata=("format",),
        children="a PDF in an enhanced metafile, as Office for Mac stores it, and a Windows metafile for older programs",
        leaves_out=(
            "characters given only as glyph numbers of a font: the exception is `unsupported`",
            "pictures inside; text drawn as curves, even with `--ocr`: the state is `no text layer`",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield contents of an enhanced metafile's comments: other forms of the picture, which may differ."""
        data = source.whole(limits.parse_bytes)
        for position, (extension, content) in enumerate(emf.carried(data) if _is_emf(data) else ()):
            name, notes = f"picture-{position}.{extension}".encode(), {"rendering": True}
            yield Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=content, notes=notes)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text; `no_text_layer` if there is none. `error` reports that the file breaks off, or that some
        runs are not characters; it is raised if there is no text."""
        data = source.whole(limits.parse_bytes)
        lines, error = _read(data)
        if (glyphs := sum(one.glyphs for one in lines)) and error is None:
            error = unsupported(f"{glyphs:,} runs of text are stored only as glyph numbers of a font")
        collector = clean.Collector(limits.text_characters)
        if content := "\n".join(filter(None, (one.text() for one in lines))).strip():
            collector.add(content + "\n")
        out = collector.result(error=error, metadata={"format": "emf" if _is_emf(data) else "wmf"})
        out.state = out.state if content else TextState.NO_TEXT_LAYER
        return out


def _is_emf(data: bytes) -> bool:
    return data[40:44] == b" EMF"  # [MS-EMF] 2.3.4.2


def _read(data: bytes) -> tuple[list[Lines], DocumentError | None]:
    if _is_emf(data):
        reader = EmfReader(data)
        return reader.read(), reader.error
    lines = Lines()
    error = wmf.read(data, lines)
    return [lines], error
