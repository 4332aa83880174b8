"""Deflate64 (zip method 9, 7z 040109): what Windows makes of files over 2 GB. The decoder of `inflate64` behind the
interface of `bz2` and `lzma`."""

from __future__ import annotations

_FEED = 1 << 14  # it gives all it can of what it is fed: of this much at most a thousand times as much


class Deflate64:
    """One stream. What follows it in what is fed is dropped: containers know where it ends."""

    unused_data = b""

    def __init__(self) -> None:
        import inflate64  # brings importlib.metadata, which is slower to come than a document is read

        self._codec = inflate64.Inflater()
        self._waiting = b""

    @property
    def eof(self) -> bool:
        return bool(self._codec.eof)

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    def decompress(self, data: bytes, _most: int = -1) -> bytes:
        """The next bytes, perhaps none; ValueError on damaged data."""
        self._waiting += data
        out = b""
        while self._waiting and not out and not self._codec.eof:
            data, self._waiting = self._waiting[:_FEED], self._waiting[_FEED:]
            out = self._codec.inflate(data)
        return out
