"""readers.text.plist: binary property lists, shared and damaged ones."""

import plistlib
from datetime import datetime
from functools import partial

import pytest
from as_found import text_of

from readers.errors import DocumentError


def binary(value: object) -> bytes:
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY, sort_keys=False)


read = partial(text_of, kind="application/x-bplist")


def test_keys_and_values_in_order() -> None:
    found = read(
        binary(
            {
                "Name": "Größe 😀",
                "Amount": [1, -2, 2.5, 1 << 63],
                "When": datetime(2020, 1, 2, 3, 4, 5),
                "Bytes": b"raw",
                "Truth": True,
                "Inner": {"Name": "a" * 300},
            }
        )
    )
    assert found.error is None
    wanted = "Name|Größe 😀|Amount|1|-2|2.5|9223372036854775808|When|2020-01-02T03:04:05|Bytes|Truth|Inner|Name|"
    assert found.text.splitlines() == [*wanted.split("|")[:-1], "a" * 300]


def test_a_shared_object_is_shown_once() -> None:
    inner: list[object] = ["deep"]
    for _ in range(30):
        inner = [inner] * 2
    assert read(binary(inner)).text == "deep\n"


def test_a_cut_one_reports_it() -> None:
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        read(binary({"a": ["b"] * 50})[:-9])
