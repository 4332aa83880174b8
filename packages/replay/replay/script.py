"""A client's script: its steps in packed blocks that are read one after the other."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.errors import UsageError, read_problem
from core.operations import Op
from traces.blocks import zstd

BLOCK_STEPS: Final = 512  # unpacking a block takes some tens of microseconds, between two calls
STEP: Final = struct.Struct("<BBBHiIIIQQ")  # the fields of STEP_TYPE
STEP_TYPE: Final = np.dtype(
    [
        ("code", "u1"),  # with INDEXING, if the call was of phase index
        ("expected", "u1"),  # errno, 0: success
        ("first", "u1"),  # 1: the think time begins when the waits are over, 0: at the same time as the waits
        ("waits", "<u2"),  # number of its entries in the block's waits
        ("slot", "<i4"),  # slot of the descriptor that it uses or opens; NO_SLOT: none
        ("node", "<u4"),
        ("other", "<u4"),  # rename: the old name's node
        ("bytes", "<u4"),
        ("argument", "<u8"),  # read, write: offset in the file
        ("time_ns", "<u8"),  # the recorded start; in a closed loop the think time before it
    ]
)
_WAIT: Final = struct.Struct("<IQ")
_HEAD: Final = struct.Struct("<III")  # steps, waits, packed bytes
_LEVEL: Final = 1
NO_SLOT: Final = -1

# Codes: an op, or one of its other forms.
OPEN_TO_WRITE: Final = 16
CREATE_TO_READ: Final = 17
REPLACE: Final = 18  # a create over an existing file
REPLACE_TO_READ: Final = 19
SYNC_ALL: Final = 20  # syncfs: an fsync of a root
REMOVE_DIRECTORY: Final = 21
OPEN_ONLY: Final = 22  # an open that failed when it was recorded: if it succeeds, it is closed again, unrecorded
ADOPT: Final = 30  # not a call: opens a file that a call of the trace needs and no call opened
ADOPT_TO_WRITE: Final = 31
LOOK: Final = 32  # and upwards: the op less 32, made as a stat
INDEXING: Final = (
    0x80  # a bit in addition to the code: the call was of phase index, which a filer's protocol may count otherwise
)
CODES: Final = 0x100

OP_OF_CODE: Final[dict[int, Op]] = {
    **{op.value: op for op in Op},
    OPEN_TO_WRITE: Op.OPEN,
    CREATE_TO_READ: Op.CREATE,
    REPLACE: Op.CREATE,
    REPLACE_TO_READ: Op.CREATE,
    SYNC_ALL: Op.FSYNC,
    REMOVE_DIRECTORY: Op.REMOVE,
    OPEN_ONLY: Op.OPEN,
    **{LOOK + op.value: op for op in Op},
}
UNRECORDED: Final = frozenset({ADOPT, ADOPT_TO_WRITE})


class Block(NamedTuple):
    """Steps that are unpacked together."""

    steps: memoryview  # packed as STEP; take `STEP.iter_unpack`
    waits: list[tuple[int, int]]  # of all steps, in order: client of the clone, and the steps that it must have done

    def columns(self) -> npt.NDArray[np.void]:
        """Return the steps as an array of STEP_TYPE."""
        return np.frombuffer(self.steps, STEP_TYPE)


class ScriptWriter:
    """Writer of one script; a context manager. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._steps: list[bytes] = []
        self._waits: list[bytes] = []
        self.steps = 0

    def add(self, step: Sequence[int], waits: Sequence[tuple[int, int]]) -> None:
        """Add one more step; its field `waits` must be their number."""
        self._steps.append(STEP.pack(*step))
        self._waits += [_WAIT.pack(client, steps) for client, steps in waits]
        self.steps += 1
        if len(self._steps) == BLOCK_STEPS:
            self._flush()

    def _flush(self) -> None:
        if self._steps:
            body = zstd.compress(b"".join(self._steps + self._waits), _LEVEL)
            self._file.write(_HEAD.pack(len(self._steps), len(self._waits), len(body)) + body)
            self._steps, self._waits = [], []

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def read_script(path: Path) -> Iterator[Block]:
    """Yield the blocks of a script, in order. Raises UsageError if the file is incomplete."""
    try:
        with path.open("rb") as file:
            while head := file.read(_HEAD.size):
                steps, waits, packed = _HEAD.unpack(head)
                raw = memoryview(zstd.decompress(file.read(packed)))
                cut = steps * STEP.size
                if len(raw) != cut + waits * _WAIT.size:
                    raise UsageError(f"the script of the replay {path} is damaged; compile it again")
                yield Block(raw[:cut], list(_WAIT.iter_unpack(raw[cut:])))
    except (OSError, struct.error, zstd.ZstdError) as e:
        raise UsageError(f"{read_problem(f'the script of the replay {path}', e)}; compile it again") from e
