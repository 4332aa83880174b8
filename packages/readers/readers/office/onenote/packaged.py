"""OneNote sections in the packaging that servers hand out ([MS-ONESTORE] 2.8 over [MS-FSSHTTPB] 2.2): one flat walk over
its stream objects finds the objects' properties and the files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from readers.errors import DocumentError, ExceptionCode
from readers.office.onenote.store import Properties, Store, StoredFile

PACKAGING = bytes.fromhex("2fe98d63d4a6c14b9a36b3fc2511a5b7")  # guidFileFormat
_START = 68  # behind the header
_PACKAGING, _ELEMENT, _BLOB, _BLOB_DECLARED = 0x7A, 0x01, 0x02, 0x05
_OBJECT_DATA, _OBJECT_DECLARED, _DECLARATIONS = 0x16, 0x18, 0x1D
_LARGE = 0x7FFF
_MAX_OBJECTS = 2_000_000
_GUID_FORMS = ((0x07, 0x04, 1), (0x3F, 0x20, 2), (0x7F, 0x40, 3), (0xFF, 0x80, 5))  # mask, bits, bytes before the GUID


def read_packaged(data: bytes) -> Store:
    """Read all objects of the package, in all versions: the order of the elements does not identify the last one.
    `Store.error` is set where it breaks off."""
    store = Store()
    walk = _Walk(data, store)
    try:
        for kind, start, end in _stream_objects(data):
            walk.take(kind, start, end)
    except DocumentError as error:
        store.error = error
    return store


class _Walk:
    """What was met before, as far as what follows depends on it."""

    def __init__(self, data: bytes, store: Store) -> None:
        self._data, self._store = data, store
        self._element = b""  # the data element that the walk is in
        self._declared: deque[bytes] = deque()  # objects of the group whose data has not come yet
        self._blobs: dict[bytes, bytes] = {}  # object → data element with its file

    def take(self, kind: int, start: int, end: int) -> None:
        """Use one stream object, if it is of use; a damaged one is passed over."""
        try:
            if kind == _ELEMENT:
                self._element = _guid(self._data, start)
            elif kind == _DECLARATIONS:
                self._declared.clear()
            elif kind == _OBJECT_DECLARED:
                behind = start + len(_guid(self._data, start))
                self._declared.append(self._data[start : _compact(self._data, behind)[1]])
            elif kind == _BLOB_DECLARED:
                owner = _guid(self._data, start)
                self._blobs[owner] = _guid(self._data, start + len(owner))
            elif kind == _OBJECT_DATA:
                self._properties(start, end)
            elif kind == _BLOB:
                size, at = _compact(self._data, start)
                self._store.files[self._element] = StoredFile(at, size, at + size <= end)
        except IndexError:
            return

    def _properties(self, at: int, end: int) -> None:
        """Object data (2.2.1.12.6.4): two lists of references, then the properties ([MS-ONESTORE] 2.6.1)."""
        key = self._declared.popleft() if self._declared else b"#%d" % len(self._store.objects)
        references = []
        for each in (1, 2):  # objects; cells, of which each takes two
            count, at = _compact(self._data, at)
            for _ in range(each * min(count, len(self._data))):
                reference = _guid(self._data, at)
                at += len(reference)
                if at > end:
                    raise IndexError("more references than the object has room for")
                references.append(reference)
        size, at = _compact(self._data, at)
        # Tables are for the references of the other packaging; here each is spelled out.
        place = key, len(self._store.objects)
        self._store.objects[place] = Properties(self._data[at : min(end, at + size)], {}, key)
        for reference in references:
            if reference in self._blobs:
                self._store.holders.setdefault(self._blobs[reference], place)


def _stream_objects(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(type, start, end) of the stream objects (2.2.1.5) in order, those inside others too. DocumentError `truncated`
    where one reaches beyond the end."""
    at = _START
    for _ in range(_MAX_OBJECTS):
        head = int.from_bytes(data[at : at + 4], "little")
        form = head & 3
        if form in (1, 3):  # the end of one that has others inside, of one byte or two
            if form == 3 and head >> 2 & 0x3FFF == _PACKAGING:
                return
            at += 1 if form == 1 else 2
            continue
        if form == 0:
            kind, length, at = head >> 3 & 0x3F, head >> 9 & 0x7F, at + 2
        else:
            kind, length, at = head >> 3 & 0x3FFF, head >> 17, at + 4
        try:
            if form == 2 and length == _LARGE:
                length, at = _compact(data, at)
        except IndexError:
            length = len(data)
        if at + length > len(data):
            break
        yield kind, at, at + length
        at += length
    raise DocumentError(ExceptionCode.TRUNCATED, "the OneNote file ends in the middle of its package")


def _compact(data: bytes, at: int) -> tuple[int, int]:
    """(a compact unsigned 64-bit integer (2.2.1.1), the place behind it); IndexError where it is cut."""
    first = data[at]
    if first == 0:
        return 0, at + 1
    width = (first & -first).bit_length()  # the lowest set bit gives the number of bytes
    if width == 8:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    return int.from_bytes(data[at : at + width], "little") >> width, at + width


def _guid(data: bytes, at: int) -> bytes:
    """An extended GUID (2.2.1.7) as stored; IndexError where there is none."""
    first = data[at]
    if first == 0:
        return data[at : at + 1]
    for mask, bits, before in _GUID_FORMS:
        if first & mask == bits:
            return data[at : at + before + 16]
    raise IndexError("no extended GUID")
