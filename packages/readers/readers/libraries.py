"""Packages that readers use in addition to Python; their versions are part of the record of how an item was read."""

from __future__ import annotations

# As they are named in pyproject.toml; pillow and numpy read pictures for OCR, the last two dates. A test reads the imports.
LIBRARIES = (
    "archi",
    "backports.zstd",
    "chardet",
    "cryptography",
    "djvu-rs",
    "inflate64",
    "isal",
    "libpff-python",
    "lxml",
    "msgspec",
    "numpy",
    "pillow",
    "pybcj",
    "pycdlib",
    "pypdfium2",
    "selectolax",
    "tzdata",
    "tzlocal",
    "unhwp",
)
