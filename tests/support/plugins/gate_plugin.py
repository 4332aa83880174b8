"""A plugin that holds a slot inside an expand task until the test lets it go: `GATE <path>` in a file makes its
handler create `<path>.reached` and wait until `<path>.open` is there."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from core.records import Limits
from readers.base import Child, LeafHandler, Part, Source, Text

WORD = b"GATE "
MEDIA_TYPE = "application/x-gate"


class GateHandler(LeafHandler):
    """Waits in `children`."""

    name = "gate"
    media_types: tuple[str, ...] = (MEDIA_TYPE,)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        path = os.fsdecode(source.head[len(WORD) :])
        Path(f"{path}.reached").touch()
        while not os.path.exists(f"{path}.open"):
            time.sleep(0.01)
        return iter(())

    def text(self, source: Source, limits: Limits) -> Text:
        return Text(text="gate")


HANDLERS = (GateHandler(),)
MAGIC = {WORD: MEDIA_TYPE}
