"""A trace's tree as a tree file of elbencho (`--treefile`): directories and files with their sizes.

The format as elbencho 3.1 reads it: a line `d PATH` or `f BYTES PATH`, paths relative to the benchmark's directory, any
other line skipped, so that `#` makes a comment.
"""

from __future__ import annotations

from typing import TextIO

from traces.converters.used_files import UsedFiles
from traces.layout import Layout
from traces.model import NodeKind, Trace


def export_elbencho(trace: Trace, out: TextIO) -> tuple[str, ...]:
    """Write the tree; what is lost. Raises UsageError when the trace is damaged, OSError."""
    used = UsedFiles(trace)
    losses = _losses(trace)
    out.write("# A tree file for elbencho --treefile, from a trace of edbench.\n")
    for line in losses:
        out.write(f"# Lost: {line}\n")
    layout = Layout(trace.nodes)
    for number, node in enumerate(trace.nodes):
        if node.kind == NodeKind.DIRECTORY:
            out.write(f"d {layout.path(number).decode('ascii')}\n")
    for file in used.files():
        out.write(f"f {used.size(file)} {layout.path(file).decode('ascii')}\n")
    return losses


def _losses(trace: Trace) -> tuple[str, ...]:
    return (
        f"the {trace.header.calls:,} calls: their order, times, think time, offsets and sizes, and which stream made them; "
        "elbencho writes, reads, stats or deletes every file once, in blocks of one size",
        "changes over time: files that the calls create exist from the start, under their last names; nothing is "
        "renamed or removed during the run, and names under which nothing was found are omitted",
        "how well the contents compress (elbencho has one setting for all: --blockvarpct)",
    )
