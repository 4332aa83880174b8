"""How many bytes and files a replay's tree has at most while it is played."""

from __future__ import annotations

from array import array
from itertools import repeat

from core.content import BLOCK
from core.operations import Op
from replay import script
from replay.order import Play
from replay.spread import Spread
from replay.survey import Survey
from replay.table import EVERYWHERE, OWN_DIRECTORY, OWN_FILE, SHARED_DIRECTORY, SHARED_FILE, CallTable
from replay.world import CHANGES
from traces.model import NO_NODE


def rounded(size: int) -> int:
    """The bytes of the blocks that so many bytes take."""
    return -(-size // BLOCK) * BLOCK


class Growth:
    """Follows the calls of one clone in their order; 9 bytes a node. Lists are by place (`Spread.places`)."""

    def __init__(self, survey: Survey, spread: Spread, paths: int) -> None:
        self._places = spread.places
        self._sizes = array("q", repeat(0, len(survey)))  # grown by the calls so far
        self._bytes, self._files = [0] * paths, [0] * paths
        self.bytes, self.files = [0] * paths, [0] * paths  # the most at any time

    def follow(self, play: Play) -> None:
        """One more call."""
        call = play.call
        if play.expected or play.code >= script.LOOK:
            return
        if call.op is Op.WRITE:
            self._grow(call.node, call.argument + call.bytes)
        elif call.op in CHANGES:
            self._change(play)

    def _change(self, play: Play) -> None:
        call, place = play.call, self._places[play.call.node]
        if call.op is Op.REMOVE:
            self._forget(call.node)
            self._files[place] -= 1
        elif call.op is Op.RENAME:
            if call.other != NO_NODE and call.other != call.node:
                self._forget(call.node)
                self._sizes[call.node], self._sizes[call.other] = self._sizes[call.other], 0
        elif play.code not in (script.REPLACE, script.REPLACE_TO_READ):
            self._files[place] += 1
            self.files[place] = max(self.files[place], self._files[place])

    def _grow(self, node: int, size: int) -> None:
        place, before = self._places[node], self._sizes[node]
        if size > before:
            self._sizes[node] = size
            self._bytes[place] += rounded(size) - rounded(before)
            self.bytes[place] = max(self.bytes[place], self._bytes[place])

    def _forget(self, node: int) -> None:
        self._bytes[self._places[node]] -= rounded(self._sizes[node])
        self._sizes[node] = 0


def prepared_volume(table: CallTable, paths: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """By place: bytes and files of a clone's own tree, and of the shared one."""
    own_bytes, own_files, shared_bytes, shared_files = ([0] * paths for _ in range(4))
    for node in range(len(table)):
        what, size = table.prepare[node], rounded(table.sizes[node])
        places = range(paths) if what & EVERYWHERE else (table.places[node] >> 1,)
        for place in places:
            if what & (OWN_DIRECTORY | OWN_FILE):
                own_bytes[place] += size or BLOCK
                own_files[place] += 1
            if what & (SHARED_DIRECTORY | SHARED_FILE):
                shared_bytes[place] += size or BLOCK
                shared_files[place] += 1
    return own_bytes, own_files, shared_bytes, shared_files
