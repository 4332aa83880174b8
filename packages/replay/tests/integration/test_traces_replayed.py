"""What is imported from strace can be replayed: every call finds what it found then."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[4]
_LOGS = Path(__file__).parents[1] / "support" / "strace_logs"
# In a process of its own, because the clients are forked, and whoever runs tests may have threads.
_PROGRAM = """
import json, sys
from pathlib import Path
from replay.strace.importing import import_strace
from traces.file import open_trace
from replay.local import waiting_clients
from replay.plan import plan_replay
from replay.program import compile_replay
from replay.tally import ClientResult, merge_results
from replay.tree import Target
log, scratch = Path(sys.argv[1]), Path(sys.argv[2])
import_strace(log, scratch / "t", under=[Path("/tmp/demo")], start_directory=Path("/tmp/demo"))
for folder in ("program", "target"):
    (scratch / folder).mkdir()
with open_trace(scratch / "t") as trace:
    plan = plan_replay(trace.header, clients=len(trace.header.streams), speed=None)
    program = compile_replay(trace, plan, scratch / "program")
with waiting_clients(program, Target(paths=(scratch / "target",), replay_id="x")) as play:
    found = merge_results(ClientResult.from_json(one.result["found"]) for one in play(None)).to_json()
print(json.dumps([trace.header.calls, sum(op["calls"] for op in found["ops"].values()), found["differences"]]))
"""


@pytest.mark.parametrize("log", ["shell.log", "threads-y.log"])
def test_an_imported_log_is_replayed_without_a_difference(log: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(_LOGS / log), str(tmp_path)], cwd=_ROOT, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    calls, replayed, differences = json.loads(ended.stdout)
    assert differences == []
    assert calls == replayed
    assert list((tmp_path / "target").iterdir()) == []
