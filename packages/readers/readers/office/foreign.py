"""Documents of word processors that no reader here supports. LibreOffice does, but a sandbox cannot start it: where it
is installed, another handler has it convert them to OpenDocument (worker.parsers)."""

from __future__ import annotations

from readers.base import Declared, LeafHandler, Source, Text
from readers.errors import unsupported
from readers.records import Limits

KEPT = ("title", "author", "doc_subject", "keywords", "description")  # kept by LibreOffice; dates are its own


class ForeignHandler(LeafHandler):
    """A document of WordPerfect and others, without LibreOffice."""

    name = "word processors"
    declared = Declared(
        title="WordPerfect, Works, Write, Word 2, WordPro",
        extensions=("wpd", "wp", "wp5", "wp6", "wps", "wri", "lwp"),
        text="if LibreOffice is installed, its conversion to an OpenDocument text; else the exception is `unsupported`",
        metadata=KEPT,
        leaves_out=(
            "pictures and objects; what LibreOffice leaves out; a damaged document may be converted to one without "
            "text, with the state `empty`",
            "documents that need a password",
            "everything on a worker without LibreOffice: install it on every worker",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        raise unsupported("only LibreOffice can read it; install LibreOffice on the workers")
