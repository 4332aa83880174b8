"""What the kernel says about processes."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.processes import (
    CpuTime,
    ProcessUse,
    RunQueueMeter,
    cpu_time,
    is_running,
    oom_kills,
    process_state,
    process_use,
    thread_count,
    waits_in,
)


def _until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not look():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_is_running_unless_it_is_stopped_or_dead() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    try:
        assert is_running(child.pid)
        os.kill(child.pid, signal.SIGSTOP)
        _until(lambda: process_state(child.pid) == "T")
        assert not is_running(child.pid)
        os.kill(child.pid, signal.SIGCONT)
        _until(lambda: is_running(child.pid))
    finally:
        child.kill()
    _until(lambda: process_state(child.pid) == "Z")
    assert not is_running(child.pid)
    child.wait()
    assert process_state(child.pid) is None
    assert not is_running(child.pid)


def test_processor_time_of_a_waited_child_goes_to_its_parent() -> None:
    before = process_use(os.getpid(), with_children=True)
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)
    after = process_use(os.getpid(), with_children=True)
    assert after.cpu_s - before.cpu_s > 0.25
    assert after.rss_bytes > 1_000_000
    assert process_use(2**22 + 1) == ProcessUse(0.0, 0)


_BLOCKS_AND_PINS = """
import re
from worker.processes import limit_slot

def anonymous():
    return int(re.search(r"^Anonymous: +([0-9]+) kB", open("/proc/self/smaps_rollup").read(), re.MULTILINE)[1])

limit_slot(1024)
first = b"x" * 16_000_000  # from here on glibc would keep blocks of up to this size
del first
before = anonymous()
blocks, pins = [], []
for number in range(6):
    blocks.append(b"x" * 8_000_000)
    pins += [bytearray(1_000) for _ in range(4)]  # what an item leaves behind until its portion is written
del blocks
print(anonymous() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc has other ways")
def test_the_memory_of_large_items_goes_back_when_they_are_freed() -> None:
    """A slot or box does not stay as large as the large items that it has met: six of 8 MB leave less than one does."""
    done = subprocess.run([sys.executable, "-c", _BLOCKS_AND_PINS], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 8_000


_HEAPS = """
import ctypes, sys, threading
from worker.processes import give_memory_back
give_memory_back()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(6)
def take():
    libc.malloc(ctypes.c_size_t(1000))
    together.wait()
threads = [threading.Thread(target=take) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="heaps are glibc's")
def test_threads_share_the_heaps_of_a_slot(tmp_path: Path) -> None:
    """A heap for each thread of each task's writer would keep what fell free in it."""
    subprocess.run([sys.executable, "-c", _HEAPS, str(tmp_path / "heaps.xml")], check=True)
    assert (tmp_path / "heaps.xml").read_text().count("<heap nr=") <= 2


def test_the_run_queue_meter_only_grows() -> None:
    meter = RunQueueMeter()
    first = meter.look([os.getpid()])
    assert first >= 0
    second = meter.look([2**22 + 1])
    assert second == first
    assert meter.look([os.getpid()]) >= second


def test_the_run_queue_meter_tells_processes_apart() -> None:
    meter = RunQueueMeter()
    total = meter.look([os.getpid(), os.getppid()])
    assert sum(meter.of.values()) == total
    meter.look([os.getpid()])
    assert set(meter.of) == {os.getpid()}


def test_the_kernel_tells_its_counts() -> None:
    assert thread_count() >= 1
    kills = oom_kills()
    assert kills is None or kills >= 0


def test_where_another_thread_waits_is_told_once_the_first_has_ended() -> None:
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); ctypes.CDLL(None).pthread_exit(None)"
    child = subprocess.Popen([sys.executable, "-S", "-c", code])
    try:
        _until(lambda: process_state(child.pid) == "Z")
        _until(lambda: waits_in(child.pid).startswith("state S"))
    finally:
        child.kill()
        child.wait()


def test_cpu_time_is_that_of_all_programs_on_the_chosen_cpus(tmp_path: Path) -> None:
    stat, tick = tmp_path / "stat", os.sysconf("SC_CLK_TCK")
    numbers = "1 2 3 1000 500 4 5 6 7 8"
    stat.write_text(f"cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 {numbers}\ncpu1 {numbers}\ncpu10 {numbers}\nintr 5 1\nctxt 7\n")
    assert cpu_time({0}, stat) == CpuTime(15 / tick, 6 / tick)
    assert cpu_time({0, 10}, stat) == CpuTime(30 / tick, 12 / tick)
    assert cpu_time({7}, stat) is None
    assert cpu_time({0}, tmp_path / "none") is None


def test_the_cpu_time_of_this_host_grows_with_what_a_program_uses() -> None:
    cpus = os.sched_getaffinity(0)
    before, own = cpu_time(cpus), time.process_time()
    assert before is not None
    while time.process_time() < own + 0.1:
        pass
    after = cpu_time(cpus)
    assert after is not None
    assert after.used_s >= before.used_s + 0.05
