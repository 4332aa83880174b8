"""Compressed RTF ([MS-OXRTFCP])."""

from readers.documents.rtf.compressed import decompress

SEEDS = [
    bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a0072637067313235423232 0af3 206865 6c090020627705b06c647d0a800fa0".replace(
            " ", ""
        )
    ),
    bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0"),
]


def read(data: bytes) -> None:
    decompress(data, 1_000_000)
