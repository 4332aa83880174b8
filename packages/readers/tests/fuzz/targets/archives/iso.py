"""iso: the directory of a disc image."""

import io

import pycdlib
from reading import handler


def _image() -> bytes:
    disc = pycdlib.PyCdlib()
    disc.new(interchange_level=3, joliet=3, rock_ridge="1.09")
    disc.add_directory("/DIR", rr_name="dir", joliet_path="/dir")
    for name in ("A.TXT", "DIR/B.TXT"):
        disc.add_fp(io.BytesIO(b"content"), 7, f"/{name};1", rr_name=name[-5:].lower(), joliet_path=f"/{name.lower()}")
    out = io.BytesIO()
    disc.write_fp(out)
    disc.close()
    return out.getvalue()


_SYSTEM_AREA = 16 * 2_048  # bytes in front, of no meaning
SEEDS = [_image()[_SYSTEM_AREA:]]
_reader = handler("application/x-iso9660-image")


def read(data: bytes) -> None:
    _reader(bytes(_SYSTEM_AREA) + data)
