"""7z archives, solid in blocks: what packs well under Deflate, pictures and packages as they are."""

from __future__ import annotations

from dataset_gen.formats.archives.zip_tar import Members, stored_already
from dataset_gen.made import Made, Order, Placed, branch
from dataset_gen.packing.sevenz import SevenZipWriter
from dataset_gen.packing.zip import deflated
from readers.records import Kind

MEDIA_TYPE = "application/x-7z-compressed"
_BLOCK = 8_000_000  # bytes of files in a solid block
_SAMPLE = 32_768  # bytes that show how well a file packs
_EPOCH = 1_420_000_000


class _Blocks:
    """Gathers files until a block is full; a file's place in the header follows from its block."""

    def __init__(self, out: SevenZipWriter) -> None:
        self._out = out
        self._waiting: dict[bool, list[tuple[str, Made]]] = {False: [], True: []}  # by: stored
        self._bytes = {False: 0, True: 0}
        self.written: list[tuple[str, Made]] = []  # files with bytes, in the order of the header
        self.empty: list[tuple[str, Made]] = []

    def put(self, path: str, made: Made) -> int:
        """Take a file; its packed bytes, about."""
        if not made.data:
            self._out.add_empty(path)
            self.empty.append((path, made))
            return 0
        store = stored_already(made.data)
        self._waiting[store].append((path, made))
        self._bytes[store] += len(made.data)
        if self._bytes[store] >= _BLOCK:
            self._flush(store)
        if store:
            return len(made.data)
        sample = made.data[:_SAMPLE]
        return len(deflated(sample)) * len(made.data) // len(sample)

    def _flush(self, store: bool) -> None:
        files = self._waiting[store]
        if files:
            self._out.add([path for path, _ in files], [made.data for _, made in files], store=store)
            self.written += [(path, Made(b"", made.truth)) for path, made in files]
        self._waiting[store], self._bytes[store] = [], 0

    def finish(self) -> None:
        """Write the blocks that are not full."""
        self._flush(False)
        self._flush(True)


def build(order: Order) -> Made:
    """A 7z archive; one in three has directory entries."""
    dice = order.dice
    out = SevenZipWriter(mtime=_EPOCH + dice.below(250_000_000))
    members = Members(order, order.size)
    folders = 0
    if dice.chance(0.33):
        for name in filter(None, members.folders):
            out.add_empty(f"{name}/")
            folders += 1
    blocks = _Blocks(out)
    members.fill(blocks.put)
    blocks.finish()
    children = tuple(
        Placed(name=path.encode(), ordinal=folders + position, kind=Kind.ARCHIVE_MEMBER, truth=made.truth)
        for position, (path, made) in enumerate([*blocks.empty, *blocks.written])
    )
    return branch(out.finish(), MEDIA_TYPE, children=children, container=True, announced=len(children))
