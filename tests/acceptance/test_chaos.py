"""What is killed or interrupted in the middle costs nothing: each ends with zero differences.

Slots, workers, queue managers, brokers and databases that are killed, and slots that wake up late, are the business of `make
test-chaos`; a job that is paused by another command is in test_databases.py.
"""

from __future__ import annotations

import os
import signal

from installation import Bench, until
from traced import check_trace


def test_a_killed_keeper_ends_the_command_and_its_job_goes_on(bench: Bench) -> None:
    """The services go with their keeper and nobody brings them back: the command says so instead of waiting for them."""
    hold = bench.hold("expand")
    process = bench.discover("--workers", "1", "--slots", "2", "--lease-seconds", "3")
    hold.until_reached(process)
    victim = bench.addresses().keeper
    hold.let_go()
    os.kill(victim, signal.SIGKILL)
    assert "their keeper was killed" in bench.end(process, 1)
    until(lambda: not bench.leftovers(), "nothing left running")
    with bench.attached():
        bench.edbench("job", "resume", "last")
        assert bench.verify()["differences"] == 0


def test_interrupted_job_is_paused_and_goes_on(bench: Bench) -> None:
    """Ctrl-C: exit status 130, the job paused, nothing left running; `resume` ends it."""
    hold = bench.hold("expand")
    process = bench.discover("--workers", "1", "--slots", "2", "--trace")
    hold.until_reached(process)
    process.send_signal(signal.SIGINT)
    bench.until_pausing()
    hold.let_go()
    out = bench.end(process, 130)
    assert f"edbench job resume {out.splitlines()[-1]}" in out
    assert "Traceback" not in out
    until(lambda: not bench.leftovers(), "nothing left running")
    with bench.attached():
        bench.ask("verify", "last", check=2)
        bench.edbench(
            "job", "resume", "last", "--workers", "2", "-o", "json", "--output-file", str(bench.home / "r.json")
        )
        # Its trace went on with it. A slot that does not end in time is killed.
        assert check_trace(bench.result(), whole=False) == {"walk", "expand", "index", "finalise"}
        assert bench.verify()["differences"] == 0


def test_a_killed_command_leaves_nothing_running_and_its_job_goes_on(bench: Bench) -> None:
    """SIGKILL of `discover` itself: services and workers end, `resume` takes the job up."""
    hold = bench.hold("expand")
    process = bench.discover("--workers", "1", "--slots", "2", "--lease-seconds", "3")
    hold.until_reached(process)
    process.kill()
    process.communicate()
    hold.let_go()
    until(lambda: not bench.leftovers(), "nothing left running")
    with bench.attached():
        bench.edbench("job", "resume", "last")
        assert bench.verify()["differences"] == 0
