"""Errors survive the way between processes."""

from __future__ import annotations

import pickle

import pytest

from core.errors import SourceFileError
from readers.errors import DocumentError, ExceptionCode


@pytest.mark.parametrize(
    "error",
    [
        DocumentError(ExceptionCode.CORRUPT, "bad bytes", missing=3),
        SourceFileError(ExceptionCode.UNREADABLE, "no permission", errno=13),
    ],
)
def test_a_document_error_can_be_pickled(error: DocumentError) -> None:
    """Code, detail and everything else come back; else a pool would die of one bad document."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__
