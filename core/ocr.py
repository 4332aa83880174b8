"""The languages a person names for OCR: tesseract's names, joined by "+"."""

from __future__ import annotations

import re

from core.errors import UsageError

DEFAULT_LANGUAGES = "eng"
MOST_LANGUAGES = 8  # each one costs memory, and time on every page
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]{1,30}(?:/[A-Za-z0-9_]{2,30})?")  # eng, chi_sim, script/Latin: no path


def parse_languages(text: str) -> str:
    """`eng+deu`, each language once and in the order given, for it counts; raises UsageError when it is not that."""
    names = list(dict.fromkeys(text.split("+")))
    wrong = next((name for name in names if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"--ocr-languages: {wrong!r} is not the name of a tesseract language; write eng or eng+deu",
            field="ocr_languages",
        )
    if len(names) > MOST_LANGUAGES:
        raise UsageError(
            f"--ocr-languages names {len(names)} languages; give at most {MOST_LANGUAGES}", field="ocr_languages"
        )
    return "+".join(names)
