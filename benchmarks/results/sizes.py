"""How much of everything: all that a published result should have, less, or so little that it only shows that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """One choice of them. Bytes are bytes, times seconds."""

    name: str
    scale: float  # of the reference corpus
    repeats: int  # of each point of a discovery
    clients: tuple[int, ...]  # of the replays
    most_clients: int  # that the search for the knee tries
    drift_files: int  # at most
    drift_s: float  # at the rate of the metadata step; fewer files where they would take longer
    drift_group: int
    empty_files: int  # of the metadata figure
    objects: tuple[int, ...]  # clients of the sweep
    object_bytes: int
    block_bytes: int  # all volumes of block-8k together
    block_s: int
    block_ramp_s: int
    matrix_threads: tuple[int, ...]
    matrix_mib: tuple[int, ...]
    matrix_s: int
    tool_repeats: int  # of each independent tool
    step_s: float  # after which a step is ended


# Eight storages in 78 minutes of two cores of speed 1.35, and some two hours of cores of 0.55: what is longer than in `small` is what
# more time makes another figure of.
WHOLE = Sizes(
    name="whole", scale=0.0003, repeats=2, clients=(1, 2, 4, 8, 16), most_clients=16, drift_files=200_000, drift_s=400,
    drift_group=2_000, empty_files=6_000, objects=(1, 4, 16), object_bytes=8_000_000, block_bytes=128 << 20, block_s=3, block_ramp_s=1,
    matrix_threads=(1, 4), matrix_mib=(8, 64), matrix_s=1, tool_repeats=3, step_s=720,
)  # fmt: skip
SMALL = Sizes(
    name="small", scale=0.0003, repeats=1, clients=(1, 4, 16), most_clients=16, drift_files=200_000, drift_s=20,
    drift_group=2_000, empty_files=6_000, objects=(1, 4, 16), object_bytes=8_000_000, block_bytes=128 << 20, block_s=3, block_ramp_s=1,
    matrix_threads=(1, 4), matrix_mib=(8, 64), matrix_s=1, tool_repeats=3, step_s=480,
)  # fmt: skip
TINY = Sizes(
    name="tiny", scale=0.0001, repeats=1, clients=(1, 2), most_clients=2, drift_files=1_200, drift_s=10,
    drift_group=100, empty_files=300, objects=(1, 2), object_bytes=1_000_000, block_bytes=32 << 20, block_s=2, block_ramp_s=0,
    matrix_threads=(1,), matrix_mib=(8,), matrix_s=1, tool_repeats=2, step_s=120,
)  # fmt: skip
SIZES = {one.name: one for one in (WHOLE, SMALL, TINY)}
