"""What an item is, from its bytes and its name."""

from reading import files

from readers.base import MemorySource
from readers.identification.identify import identify

SEEDS = [
    data[:8_192] for data in files(".doc", ".zip", ".eml", ".mbox", ".html", ".xml", ".tar", ".p7m", ".pst", ".docx")
]


def read(data: bytes) -> None:
    identify(MemorySource(b"a.dat", data), "text/plain" if data[:1] > b"\x80" else None)
