"""Wire-read ÷ call-read for people."""

from __future__ import annotations

from rich.console import Console

from cli.output import bytes_text
from cli.show.table import table
from controller.observe.wire import WireShare, WireShares


def show_wire(console: Console, wire: WireShares) -> None:
    """A line for each phase and the whole."""
    rows = [(phase.value, *_cells(share)) for phase, share in wire.phases.items()]
    rows.append(("whole job", *_cells(wire.total)))
    console.print()
    console.print(table(("read in", "by calls", "over the wire", "wire ÷ call", ""), rows, right=(1, 2, 3)))
    hosts = len({source.partition(":")[0] for source in wire.sources})
    console.print(
        f"wire: NFS mounts of {hosts} host{'s' if hosts != 1 else ''}, everything that read there counted;"
        " well below 1, a client's cache answered"
    )
    if wire.other_jobs:
        console.print(f"wire: {wire.other_jobs} other jobs ran meanwhile; what they read may be in these figures")


def _cells(share: WireShare) -> tuple[str, str, str, str]:
    ratio = "" if share.ratio is None else f"{share.ratio:.2f}"
    return bytes_text(share.call_read_bytes), bytes_text(share.wire_read_bytes), ratio, share.why or ""
