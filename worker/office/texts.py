"""Text of documents that LibreOffice alone reads: it makes OpenDocument of them, which is read as any other is, in the box
where there is one."""

from __future__ import annotations

from pathlib import Path

from core.errors import StorageFault, SystemFault
from readers import registry
from readers.base import LeafHandler, MemorySource, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.foreign import HANDLERS, KEPT
from readers.records import Limits
from worker.office.engine import INSTALL, OfficeUnavailable, find_office
from worker.office.kinds import ODT

_SHARE = 0.4  # of an item's seconds, for each of two starts: its slot must not be at it when its deadline comes


class OfficeTexts(LeafHandler):
    """Stands for the handler of the same types. A document is converted by itself, in a directory below `scratch`."""

    def __init__(self, scratch: Path) -> None:
        (own,) = HANDLERS
        self.name, self.media_types, self.declared = own.name, own.media_types, own.declared
        self._scratch = scratch

    def text(self, source: Source, limits: Limits) -> Text:
        """DocumentError `unsupported` without LibreOffice, else as of pages (docs/production.md). Raises StorageFault."""
        made = self._converted(source, limits)
        out = registry.handler_for(ODT.media_type).text(MemorySource(b"converted.odt", made), limits)
        out.metadata = {key: value for key, value in out.metadata.items() if key in KEPT}
        return out

    def _converted(self, source: Source, limits: Limits) -> bytes:
        from worker.office.converting import (
            Converter,
            Document,
        )  # few files need it, and every command that reads starts
        from worker.office.process import Bounds

        try:
            office = find_office()
        except OfficeUnavailable as error:
            raise DocumentError(
                ExceptionCode.UNSUPPORTED, f"{error}; install it to read this file: {INSTALL}"
            ) from error
        if ODT.part not in office.parts:
            raise DocumentError(
                ExceptionCode.UNSUPPORTED,
                f"the LibreOffice here has no {ODT.part}; install it to read this file: {INSTALL}",
            )
        told = identify(source)
        document = Document(told if told in self.media_types else self.media_types[0], source)
        bounds = Bounds(
            seconds=_SHARE * (limits.item_seconds + limits.item_seconds_per_mb * source.size / 1e6), patience=1.0
        )
        converter = Converter(office, self._scratch.absolute(), limits, lambda: None, bounds, ODT)
        try:
            ((_, verdict),) = converter.converted([document])
        except StorageFault:
            raise
        except SystemFault as error:  # it cannot be started: as if it were not there
            raise DocumentError(ExceptionCode.UNSUPPORTED, str(error)) from error
        if isinstance(verdict, DocumentError):
            raise verdict
        return verdict


def read_by_office(scratch: Path) -> None:
    """Have LibreOffice read what nothing here reads, for the rest of this process."""
    registry.replace((OfficeTexts(scratch),))
