"""Calls, wire ops and the server's own counts beside each other, and what is asked of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from counters import Grown

# What the job itself does without recording: its folders on the storage root, looking at the source.
UNRECORDED = 10


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity at the three places; None where a place does not have it. `held` says what was asked, `fine`
    whether it was so."""

    what: str
    calls: int | None
    wire: int | None
    server: int | None
    held: str
    fine: bool


def near(a: int, b: int, *, absolute: int = 0, relative: float = 0.0) -> bool:
    """Whether two counts are as good as equal."""
    return abs(a - b) <= max(absolute, relative * max(a, b))


def compare(result: dict[str, Any], seen: Grown) -> Iterator[Row]:
    """Every quantity that at least two places counted."""
    calls = {op: row["count"] - row["errors"] for op, row in result["calls"].items()}
    read, written = result["calls"]["read"]["bytes"], result["calls"]["write"]["bytes"]
    server = seen.server
    yield Row(
        *("NFS requests, by op", None, seen.wire_requests, server.procedures, "wire = server, ± 5"),
        near(seen.wire_requests, server.procedures, absolute=5),
    )
    yield Row(
        *("requests, by transport", None, seen.transport_sends, server.requests, "wire = server, ± 5"),
        near(seen.transport_sends, server.requests, absolute=5),
    )
    yield Row(
        *("bytes read, asked for", read, seen.program_read, None, "calls = client's kernel, ± 1 %"),
        near(read, seen.program_read, relative=0.01),
    )
    yield Row(
        *("bytes read, moved", None, seen.wire_read, server.read_bytes, "wire = server"),
        seen.wire_read == server.read_bytes,
    )
    yield Row(
        *("bytes written", written, seen.wire_written, server.write_bytes, "wire = server = calls, ± 1 %"),
        seen.wire_written == server.write_bytes and near(written, seen.wire_written, relative=0.01),
    )
    for op in ("READ", "WRITE"):
        yield Row(
            op,
            calls[op.lower()],
            seen.wire_ops[op],
            server.ops[op],
            "wire = server",
            seen.wire_ops[op] == server.ops[op],
        )
    yield Row(
        *("RENAME", calls["rename"], seen.wire_ops["RENAME"], server.ops["RENAME"], "wire = server = calls"),
        calls["rename"] == seen.wire_ops["RENAME"] == server.ops["RENAME"],
    )
    yield from _by_version(calls, seen)


def _by_version(calls: dict[str, int], seen: Grown) -> Iterator[Row]:
    """What v3 and v4 name differently: making directories, opening."""
    made = "CREATE" if seen.version.startswith("4") else "MKDIR"
    wire, server = seen.wire_ops[made], seen.server.ops[made]
    yield Row(
        *(f"{made} (mkdir)", calls["mkdir"], wire, server, f"wire = server, calls ± {UNRECORDED}"),
        wire == server and near(calls["mkdir"], wire, absolute=UNRECORDED),
    )
    if made == "MKDIR":
        wire, server = seen.wire_ops["CREATE"], seen.server.ops["CREATE"]
        yield Row(
            *("CREATE (create)", calls["create"], wire, server, f"wire = server, calls ± {UNRECORDED}"),
            wire == server and near(calls["create"], wire, absolute=UNRECORDED),
        )
        return
    asked = calls["open"] + calls["create"]
    opens = seen.wire_ops["OPEN"] + seen.wire_ops.get("OPEN_NOATTR", 0)
    yield Row(
        *("OPEN (open, create)", asked, opens, seen.server.ops["OPEN"], "wire = server, not above calls"),
        opens == seen.server.ops["OPEN"] and opens <= asked + UNRECORDED,
    )
