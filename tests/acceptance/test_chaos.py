"""What is killed or interrupted in the middle costs nothing: each ends with zero differences.

Slots, workers, queue managers, brokers and databases that are killed, and slots that wake up late, are the business of
`make test-chaos`; a job that is paused by another command is in test_databases.py."""

import os
import signal

from installation import Bench, Hold, Running, until
from traced import check_trace


def test_a_job_survives_its_keeper_its_command_and_ctrl_c(bench: Bench) -> None:
    """One job, ended in three ways while a task runs: each leaves nothing running, and `resume` continues it."""
    process, hold = bench.discover_held(
        "expand", 1, "--workers", "1", "--slots", "2", "--lease-seconds", "3", "--trace"
    )
    victim = bench.addresses().keeper
    hold.let_go()
    os.kill(victim, signal.SIGKILL)
    # The services go with their keeper and are not started again: the command reports that instead of waiting for them.
    assert "their keeper was killed" in bench.end(process, 1)
    until(lambda: not bench.leftovers(), "nothing left running")

    process = _resumed(bench, hold, 2)
    process.kill()
    process.communicate()
    hold.let_go()
    until(lambda: not bench.leftovers(), "nothing left running")

    process = _resumed(bench, hold, 3)
    process.send_signal(signal.SIGINT)
    bench.until_pausing()
    hold.let_go()
    out = bench.end(process, 130)
    assert f"edbench job resume {out.splitlines()[-1]}" in out
    assert "Traceback" not in out
    until(lambda: not bench.leftovers(), "nothing left running")

    with bench.attached():
        bench.ask("verify", "last", check=2)
        bench.edbench("job", "resume", "last", "--workers", "2", *bench.to_result)
        # Its trace went on with it. A slot that is killed takes the calls of its task with it.
        assert check_trace(bench.result(), whole=False) == {"walk", "expand", "index", "finalise"}
        assert bench.verify()["differences"] == 0


def _resumed(bench: Bench, hold: Hold, tasks: int) -> Running:
    """`resume`, until it is held when so many tasks have begun since the first hold."""
    hold.after(tasks)
    process = bench.start("job", "resume", "last")
    hold.until_reached(process)
    return process
