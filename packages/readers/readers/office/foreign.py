"""Documents of word processors that no reader here supports. LibreOffice does, but a sandbox cannot start it: where it
is installed, another handler has it convert them to OpenDocument (worker.office.converting)."""

from __future__ import annotations

from readers.base import Handler, LeafHandler, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.modules import MEDIA_TYPES
from readers.records import Limits

KEPT = ("title", "author", "doc_subject", "keywords", "description")  # kept by LibreOffice; dates are its own


class ForeignHandler(LeafHandler):
    """A document of WordPerfect and others, without LibreOffice."""

    name = "word processors"
    media_types: tuple[str, ...] = MEDIA_TYPES["office.foreign"]
    declared = Declared(
        title="WordPerfect, Works, Write, Word 2, WordPro",
        extensions=("wpd", "wp", "wp5", "wp6", "wps", "wri", "lwp"),
        text="where LibreOffice is installed, what it makes of them, as of an OpenDocument text; else the exception is `unsupported`",
        metadata=KEPT,
        leaves_out=(
            "pictures and objects; what LibreOffice leaves out; of damaged ones it may make a document without text: the state is `empty`",
            "documents that need a password",
            "on a worker without LibreOffice all of it: install it everywhere",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        raise DocumentError(ExceptionCode.UNSUPPORTED, "LibreOffice reads it, and nothing here does")


HANDLERS: tuple[Handler, ...] = (ForeignHandler(),)
