"""What must be true of the trace that a job's result names."""

from pathlib import Path
from typing import Any

from traces.file import open_trace


def check_trace(result: dict[str, Any], *, whole: bool = True) -> set[str]:
    """The phases that it has calls of. It has every call that the job's counters have, or says how many are missing.
    `whole`: no slot was killed, which takes the calls of its task with it. It may have more: a reporter that is killed
    takes what it had not sent of the counters."""
    reported = result["trace"]
    counted = sum(op["count"] for op in result["calls"].values())
    with open_trace(Path(reported["path"])) as trace:
        phases = [call.phase for stream in range(len(trace.header.streams)) for call in trace.calls(stream)]
        found = {trace.header.phases[number] for number in set(phases)}
        assert (len(phases), trace.header.lost, len(trace.nodes), trace.size) == (
            reported["calls"],
            reported["lost"],
            reported["nodes"],
            reported["bytes"],
        )
    assert reported["calls"] > 0
    assert not whole or reported["lost"] == 0
    assert reported["calls"] + reported["lost"] >= counted
    return found
