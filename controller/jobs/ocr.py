"""OCR for the creator of a job: what was ordered, and whether it can be done here."""

from __future__ import annotations

from core.errors import UsageError
from core.ocr import DEFAULT_LANGUAGES, parse_languages
from core.records import OcrChoice
from worker.ocr.tesseract import OcrUnavailable, find_engine


def ocr_choice(asked: bool, languages: str | None) -> OcrChoice:
    """The OCR choice that a job stores. Raises UsageError for unknown languages, and for languages without OCR."""
    if not asked:
        if languages is not None:
            raise UsageError("--ocr-languages requires --ocr", field="ocr_languages")
        return OcrChoice()
    return OcrChoice(languages=parse_languages(DEFAULT_LANGUAGES if languages is None else languages))


def refuse_no_ocr(choice: OcrChoice) -> None:
    """Raises UsageError where OCR is asked for and cannot be done on this machine, whose own processes are to do it.

    Workers that others run look for themselves: without it they suspend the job at their first task, and say why.
    """
    if not choice.asked:
        return
    try:
        engine = find_engine()
    except OcrUnavailable as error:
        raise UsageError(f"--ocr: {error}, or remove --ocr", field="ocr") from error
    try:
        engine.needs(choice.languages)
    except OcrUnavailable as error:
        raise UsageError(f"--ocr-languages: {error}, or give other languages", field="ocr_languages") from error
