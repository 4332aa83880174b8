"""What is said of more workers on one machine."""

import subprocess
import sys

from benchmarks.driver import Spent
from benchmarks.workers import Runs, over_best


def test_most_workers_over_the_best_number() -> None:
    assert over_best({1: [10.0, 30.0, 10.0], 2: [12.0, 36.0, 12.0], 4: [20.0, 60.0, 20.0]}) == (0.5, 1)
    assert over_best({1: [10.0], 2: [9.0], 4: [8.0]}) == (1.0, 4)


def test_an_item_costs_what_an_empty_job_does_not() -> None:
    job = Spent(processor_s=12.0, system_s=3.0, faults=2_100, switches=700)
    start = Spent(processor_s=10.0, system_s=1.0, faults=100, switches=200)
    runs = Runs(elapsed=[1.0], spent=[job], empty=[start])
    assert [runs.each(what, 1_000) for what in ("processor_s", "system_s", "faults", "switches")] == [
        0.002,
        0.002,
        2,
        0.5,
    ]


def test_what_ended_unwaited_for_is_counted() -> None:
    """A process whose parent left it behind, as boxes are, is in the sum. In a process of its own, whose children are
    nobody else's."""
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {burn!r}])"
    look = f"""
import subprocess, sys
from benchmarks.driver import spent_below
with spent_below() as taken:
    subprocess.run([sys.executable, "-S", "-c", {leave!r}], check=True)
print(taken[0].processor_s)
"""
    reported = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True)
    assert float(reported.stdout) >= 0.2
