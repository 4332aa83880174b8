"""Short sound and film: WAV (PCM), MP3 (ISO/IEC 11172-3 frames after an ID3v2 tag), MP4 (ISO/IEC 14496-12).

The samples are noise: no reader of this pipeline decodes them, and players show noise. Items of these types have no
text, which the pipeline reports as `unsupported`."""

from __future__ import annotations

import struct
from dataclasses import replace

from dataset_gen.made import Made, Order, leaf
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice
from readers.errors import ExceptionCode

_NOISE = 65_536  # bytes drawn; a longer recording repeats them
_RATE = 8000  # samples a second of a voice memo


def _recorded(data: bytes, media_type: str) -> Made:
    """Build a leaf without text, with the exception for it."""
    made = leaf(data, media_type)
    return Made(data, replace(made.truth, exceptions=(ExceptionCode.UNSUPPORTED.value,)))


def _samples(dice: Dice, count: int) -> bytes:
    noise = dice.noise(min(count, _NOISE))
    return (noise * (count // len(noise) + 1))[:count] if count else b""


def build_wav(order: Order) -> Made:
    """Build a voice memo: one channel of 16 bits."""
    samples = _samples(order.dice, max(2, order.size - 44) & ~1)
    form = struct.pack("<HHIIHH", 1, 1, _RATE, _RATE * 2, 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    return _recorded(b"RIFF" + struct.pack("<I", len(chunks)) + chunks, "audio/x-wav")


def _id3_text(frame: bytes, value: str) -> bytes:
    """Return a text frame of ID3v2.3 (section 4.2) in ISO 8859-1."""
    data = b"\0" + value.encode("latin-1", "replace")
    return frame + struct.pack(">IH", len(data), 0) + data


def build_mp3(order: Order) -> Made:
    """Build a recording of 128 kbit a second with a title."""
    dice = order.dice
    frames = _id3_text(b"TIT2", prose().title(dice)) + _id3_text(b"TPE1", f"Speaker {dice.below(400)}")
    size = bytes((len(frames) >> shift) & 0x7F for shift in (21, 14, 7, 0))
    # MPEG 1 layer III, 128 kbit/s, 32 kHz: every frame has 576 bytes.
    count = max(2, (order.size - 10 - len(frames)) // 576)
    noise = _samples(dice, count * 572).replace(b"\xff", b"\xfe")
    body = b"".join([b"\xff\xfb\x98\xc4" + noise[at : at + 572] for at in range(0, len(noise), 572)])
    return _recorded(b"ID3\3\0\0" + size + frames + body, "audio/mpeg")


def _box(kind: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return struct.pack(">I", len(data) + 8) + kind + data


def _full(kind: bytes, *content: bytes, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), *content)


_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_SHOWN = 1_000  # units a second


def _track(seconds: int, offset: int, size: int) -> bytes:
    """Return one track of sound whose samples, one a second, are in one chunk."""
    entry = _box(b"sowt", bytes(6), struct.pack(">H8xHHHHI", 1, 1, 16, 0, 0, _RATE << 16))
    each = max(1, size // seconds)
    table = _box(
        b"stbl",
        _full(b"stsd", struct.pack(">I", 1), entry),
        _full(b"stts", struct.pack(">III", 1, seconds, _SHOWN)),
        _full(b"stsc", struct.pack(">IIII", 1, 1, seconds, 1)),
        _full(b"stsz", struct.pack(">II", each, seconds)),
        _full(b"stco", struct.pack(">II", 1, offset)),
    )
    reference = _box(b"dinf", _full(b"dref", struct.pack(">I", 1), _full(b"url ", flags=1)))
    return _box(
        b"trak",
        _full(
            b"tkhd",
            struct.pack(">IIIIIQHHHH", 0, 0, 1, 0, seconds * _SHOWN, 0, 0, 0, 0x100, 0),
            _MATRIX,
            bytes(8),
            flags=7,
        ),
        _box(
            b"mdia",
            _full(b"mdhd", struct.pack(">IIIIHH", 0, 0, _SHOWN, seconds * _SHOWN, 0x55C4, 0)),
            _full(b"hdlr", bytes(4) + b"soun" + bytes(12) + b"sound\0"),
            _box(b"minf", _full(b"smhd", bytes(4)), reference, table),
        ),
    )


def build_mp4(order: Order) -> Made:
    """Build a film: brand, index, then the samples."""
    return _film(order, b"isom", b"isomiso2mp41", "video/mp4")


def build_m4a(order: Order) -> Made:
    """Build a voice memo as telephones make them."""
    return _film(order, b"M4A ", b"M4A mp42isom", "audio/mp4")


def _film(order: Order, brand: bytes, compatible: bytes, media_type: str) -> Made:
    head = _box(b"ftyp", brand, struct.pack(">I", 512), compatible)
    samples = _samples(order.dice, max(16, order.size - 700))
    seconds = max(1, len(samples) // 16_000)
    times = struct.pack(">IIIIIH10x", 0, 0, _SHOWN, seconds * _SHOWN, 0x10000, 0x100)
    movie = b""
    for _ in range(2):  # the offset of the samples follows from the length of the index
        track = _track(seconds, len(head) + len(movie) + 8, len(samples))
        movie = _box(b"moov", _full(b"mvhd", times, _MATRIX, bytes(24), struct.pack(">I", 2)), track)
    return _recorded(head + movie + _box(b"mdat", samples), media_type)
