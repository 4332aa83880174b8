"""What the kernel says about processes."""

import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from installation import is_gone, until

from core.settings import DatabaseAddress, Settings
from monitoring.processes import (
    CpuTime,
    ProcessUse,
    RunQueueMeter,
    cpu_time,
    is_running,
    process_state,
    process_use,
    waits_in,
)
from worker.crowd import Crowd
from worker.main import main, make_plans
from worker.processes import oom_kills, thread_count
from worker.supervisor import WorkerPlan


def test_a_process_is_running_unless_it_is_stopped_or_dead() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    try:
        assert is_running(child.pid)
        os.kill(child.pid, signal.SIGSTOP)
        until(lambda: process_state(child.pid) == "T")
        assert not is_running(child.pid)
        os.kill(child.pid, signal.SIGCONT)
        until(lambda: is_running(child.pid))
    finally:
        child.kill()
    until(lambda: process_state(child.pid) == "Z")
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
    """A slot or sandbox does not stay as large as the large items that it has met: six of 8 MB leave less than one does."""
    done = subprocess.run([sys.executable, "-c", _BLOCKS_AND_PINS], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 8_000


_TURNS = """
import os
from worker.processes import limit_slot
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.nice(3)
before = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
limit_slot(512)
assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before
print(*[line.split()[-1] for line in open("/proc/self/sched") if line.startswith("se.slice")])
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/sched"), reason="this kernel does not show how it schedules a process"
)
def test_slots_take_longer_turns_with_the_policy_and_niceness_that_they_have() -> None:
    done = subprocess.run([sys.executable, "-c", _TURNS], check=True, capture_output=True, text=True)
    if tuple(int(part) for part in platform.release().split(".")[:2]) >= (6, 12):
        assert int(done.stdout) == 12_000_000


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


def test_the_kernel_reports_its_counts() -> None:
    assert thread_count() >= 1
    kills = oom_kills()
    assert kills is None or kills >= 0


def test_where_another_thread_waits_is_reported_once_the_first_has_ended() -> None:
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); ctypes.CDLL(None).pthread_exit(None)"
    child = subprocess.Popen([sys.executable, "-S", "-c", code])
    try:
        until(lambda: process_state(child.pid) == "Z")
        until(lambda: waits_in(child.pid).startswith("state S"))
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
    while time.process_time() < own + 0.1:
        pass
    after = cpu_time(cpus)
    assert after.used_s >= before.used_s + 0.05


_ENV = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h/d", "EDBENCH_BROKER": "redis://u:p@h"}


def test_options_win_over_the_environment() -> None:
    """--slots and --grace take precedence; without them the variables hold, then the defaults."""
    env = {**_ENV, "EDBENCH_SLOTS": "3", "EDBENCH_GRACE_S": "7", "EDBENCH_METRICS_PORT": "9100"}
    (plan,) = make_plans(["--name", "w9"], env).each
    assert (plan.name, plan.settings.slots, plan.grace_seconds, plan.metrics.port) == ("w9", 3, 7.0, 9100)
    (plan,) = make_plans(["--slots", "2", "--grace", "0.5"], env).each
    assert (plan.settings.slots, plan.grace_seconds) == (2, 0.5)
    (plan,) = make_plans([], _ENV).each
    assert (plan.settings.slots, plan.grace_seconds, plan.metrics.port) == (4, 10.0, 0)


def test_many_workers_have_names_and_nothing_else_of_their_own() -> None:
    """--workers 3: w1 to w3, of so many slots each; no two of them would listen on one port."""
    plans = make_plans(["--name", "w", "--workers", "3", "--slots", "2"], {**_ENV, "EDBENCH_METRICS_PORT": "9100"}).each
    assert [plan.name for plan in plans] == ["w1", "w2", "w3"]
    assert {(plan.settings.slots, plan.metrics.port) for plan in plans} == {(2, 0)}


@pytest.mark.parametrize(
    ("arguments", "env", "named"),
    [
        (["--slots", "0"], _ENV, "--slots"),
        (["--workers", "-1"], _ENV, "--workers"),
        (["--workers", "5000"], _ENV, "--workers"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "soon"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "-1"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_METRICS_PORT": "nan"}, "EDBENCH_METRICS_PORT"),
        ([], {"EDBENCH_BROKER": "redis://u:p@h"}, "EDBENCH_DATABASES"),
    ],
)
def test_what_cannot_be_done_is_reported_in_one_line(
    arguments: list[str], env: dict[str, str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments, env) == 2
    shown = capfd.readouterr().err
    assert named in shown
    assert shown.count("\n") == 1


_LOADED = """
import os
import sys
import worker.main
from core.settings import Settings
from worker.parsers import load_plugins
from worker.slots.slot import preload
load_plugins(Settings().plugins)
preload(Settings(sandbox={sandbox}))
print(len(os.listdir("/proc/self/task")), *sys.modules)
"""
_CONSUMER = """
import sys
import worker.main
from celery.worker import WorkController
from core.settings import Settings
from worker.app import SlotConsumer, make_slot_app
from worker.slots.slot import preload
preload(Settings(sandbox=True))
before = set(sys.modules)
without = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True, "task_events": False}
def run(database, job, task): pass
app = make_slot_app("redis://127.0.0.1:1/0", run)
WorkController(app=app, pool="solo", concurrency=1, queues="q", use_eventloop=False, consumer_cls=SlotConsumer, **without)
print(*set(sys.modules) - before)
"""
_READER = "readers.office.onenote"
PARSERS = {"lxml", "pypdfium2", "selectolax", "pycdlib", "isal", "pypff"}


@pytest.mark.parametrize("sandbox", [True, False])
def test_a_worker_forks_with_one_thread_and_what_its_slots_use(sandbox: bool) -> None:
    """A thread that holds a lock at the fork would hang a slot: numpy's library starts one for each processor, so a
    replay brings it, in the slot. Parsers are the fork server's, and the supervisor's only where there are no sandboxes."""
    shown = subprocess.run(
        [sys.executable, "-c", _LOADED.format(sandbox=sandbox)], capture_output=True, text=True, check=True
    )
    threads, *modules = shown.stdout.split()
    packages = {name.partition(".")[0] for name in modules}
    assert threads == "1"
    assert packages >= {"tantivy", "tzlocal", "zoneinfo"}
    assert not packages & {"numpy", "whoosh", "fastapi", "docker", "prometheus_client"}
    assert packages & PARSERS == (set() if sandbox else PARSERS)
    assert (_READER in modules) is not sandbox


def test_a_slot_imports_nothing_of_its_consumer_by_itself() -> None:
    """Celery imports much of itself when it is first used: sixteen slots would each do that beside the first task."""
    shown = subprocess.run([sys.executable, "-c", _CONSUMER], capture_output=True, text=True, check=True)
    assert not [name for name in shown.stdout.split() if name.partition(".")[0] in ("celery", "kombu")]


def test_a_fork_server_has_every_parser_and_nothing_of_the_database() -> None:
    code = "import sys; from worker.sandbox.main import load_everything\n"
    code += "load_everything(()); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = shown.stdout.split()
    packages = {name.partition(".")[0] for name in modules}
    assert _READER in modules
    assert packages >= PARSERS
    assert not packages & {"sqlalchemy", "psycopg2", "redis", "celery", "tantivy", "whoosh", "prometheus_client"}


def _plans(number: int, tmp_path: Path) -> list[WorkerPlan]:
    database = DatabaseAddress(name="db1", url="postgresql+psycopg2://u:p@h/d")
    settings = Settings(databases=(database,), broker="redis://u:p@h", scratch=tmp_path, sandbox=False)
    handle, nothing = (lambda *_: None), (lambda _settings: None)
    return [WorkerPlan(settings=settings, name=f"w{n}", handle=handle, preload=nothing) for n in range(1, number + 1)]


class _Forked:
    """A crowd in a process of its own, whose workers write their process ids down and wait to be told to stop."""

    def __init__(self, tmp_path: Path, number: int) -> None:
        self._place = tmp_path
        self.names = [f"w{n}" for n in range(1, number + 1)]
        self.pid = os.fork()
        if not self.pid:
            if not os.fork():
                os._exit(1)  # not one of its own: the first process of a container is given orphans
            os._exit(Crowd(_plans(number, tmp_path), become=self._become).run())

    def _become(self, plan: WorkerPlan) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # it waits for us, whenever it comes
        written = self._place / f"{plan.name}.part"
        written.write_text(str(os.getpid()))
        written.rename(self._place / plan.name)
        signal.sigwait({signal.SIGTERM})
        (self._place / f"{plan.name}.left").touch()
        return 0

    def worker(self, name: str) -> int:
        """Its process id; 0: it is not up yet."""
        file = self._place / name
        return int(file.read_text()) if file.exists() else 0

    def pids(self) -> list[int]:
        return [self.worker(name) for name in self.names]

    def __enter__(self) -> "_Forked":
        until(lambda: all(self.pids()), "all workers are up")
        return self

    def __exit__(self, *_: object) -> None:
        for pid in (self.pid, *self.pids()):
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_each_worker_is_a_process_of_its_own(tmp_path: Path) -> None:
    with _Forked(tmp_path, 3) as crowd:
        before = crowd.pids()
        assert len({crowd.pid, *before}) == 4
        os.kill(before[1], signal.SIGKILL)
        until(lambda: crowd.worker("w2") != before[1], "another w2")
        assert (crowd.worker("w1"), crowd.worker("w3")) == (before[0], before[2])


def test_asked_to_stop_it_asks_its_workers(tmp_path: Path) -> None:
    with _Forked(tmp_path, 3) as crowd:
        workers = crowd.pids()
        os.kill(crowd.pid, signal.SIGTERM)
        assert os.waitpid(crowd.pid, 0)[1] == 0
        assert all(map(is_gone, workers))
        assert all((tmp_path / f"{name}.left").exists() for name in crowd.names)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_workers_die_with_their_crowd(tmp_path: Path) -> None:
    """SIGKILL of it leaves nobody behind who would go on working."""
    with _Forked(tmp_path, 2) as crowd:
        workers = crowd.pids()
        os.kill(crowd.pid, signal.SIGKILL)
        os.waitpid(crowd.pid, 0)
        until(lambda: all(map(is_gone, workers)), "the workers are gone")
