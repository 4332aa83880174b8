"""The workers of one member of a crew, forked from one process that has loaded everything.

They share its memory and start at once. Each is a whole worker: a supervisor with slots, a reporter and leases of its
own, which may die without the others. They order their sandboxes from one fork server. The process has no thread and no
connection to anything, so that it can fork at any time; its workers die with it. When the fork server ends, the process
ends too, and what keeps it running starts it again.

The member's agent (worker.member.agent), another child of it, takes orders from the controller. It has the process end
the present workers and fork others, for a run of an experiment and back."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from worker.processes import die_with_parent, ended_children
from worker.sandbox.fork_server import ForkServerAddress, start_fork_server
from worker.slots.slot import fork_into
from worker.slots.watch import describe
from worker.supervisor import TICK_SECONDS, Parent, Supervisor, WorkerPlan

AGAIN_SECONDS = 1.0  # after a worker has died
_ENDED_EARLY = 1

log = logging.getLogger(__name__)

Agent = Callable[
    [Connection, int], int
]  # in a child of its own: the way to the crowd, the crowd's process id; exit status


class Crowd(Parent):
    """Runner of the workers of one member, from `run` to its end."""

    def __init__(
        self,
        plans: Sequence[WorkerPlan],
        become: Callable[[WorkerPlan], int] = lambda plan: Supervisor(plan).run(),
        *,
        agent: Agent | None = None,
        like: WorkerPlan | None = None,
    ) -> None:
        """`plans` differ in their names; `become` is what a forked process does with its own. `agent`: None where the
        controller may not give orders; `like`: the plan of the workers that it orders, with which `plans` may be empty.
        Raises OSError."""
        super().__init__()
        self._plans, self._become = plans, become
        self._like = like or plans[0]
        self._agent, self._agent_pid, self._agent_due = agent, 0, 0.0
        self._changing = False  # the workers that there are end, others follow
        self._alive: dict[int, WorkerPlan] = {}
        self._due: list[tuple[float, WorkerPlan]] = [(0.0, plan) for plan in plans]
        self._fork_server: ForkServerAddress | None = None
        self._failed = False

    def run(self) -> int:
        """Keep them running until asked to stop; return the exit status. In a process's main thread, once."""
        self._handle_signals()
        settings = self._like.settings
        if settings.sandbox:
            self._fork_server = start_fork_server(settings.slot_memory_mb, settings.plugins, os.environ)
        self._like.preload(settings)
        signalled = 0
        while self._alive or not self._stops:
            if self._stops > signalled:
                signalled = self._stops
                self._signal_all(signal.SIGTERM)
            if not self._stops:
                self._tend_agent()
                self._heed()
                self._fork_due()
            self._wait(TICK_SECONDS)
            self._reap()
        self._close_pipe()  # the agent leaves in good order
        if self._agent_pid:
            os.waitpid(self._agent_pid, 0)
        if self._fork_server is not None:
            self._fork_server.close()  # no process is left that might order a sandbox, so it ends
        return _ENDED_EARLY if self._failed else 0

    def _signal_all(self, number: int) -> None:
        for pid in self._alive:
            os.kill(pid, number)

    # The agent

    def _tend_agent(self) -> None:
        """Fork the agent, or another one when it died: its lease is over then, and so are the lease's workers."""
        now = time.monotonic()
        if self._agent is None or self._agent_pid or now < self._agent_due:
            return
        self._agent_due = now + AGAIN_SECONDS
        agent, crowd = self._agent, os.getpid()
        self._close_pipe()
        self._pipe, theirs = Pipe()

        def be(parent: int) -> int:
            _as_usual(parent)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's business is with the crowd
            return agent(theirs, crowd)

        self._agent_pid = fork_into(be, self._let_go)
        theirs.close()

    def _heed(self) -> None:
        """Execute an order of the agent: the plans from now on, None for the original ones.

        The answer is sent when the earlier workers are gone and these are forked."""
        if self._pipe is not None and self._pipe.poll():
            try:
                wanted: Sequence[WorkerPlan] | None = self._pipe.recv()
            except (EOFError, OSError):
                self._close_pipe()
                return
            self._change(self._plans if wanted is None else wanted)
        if self._changing and not self._alive:
            self._changing = False
            self._fork_due()
            if self._pipe is not None:
                self._pipe.send(None)

    def _change(self, plans: Sequence[WorkerPlan]) -> None:
        self._changing, self._due = True, [(0.0, plan) for plan in plans]
        self._signal_all(signal.SIGTERM)

    def _fork_due(self) -> None:
        if self._changing:
            return
        now, waiting = time.monotonic(), []
        for at, plan in self._due:
            if at > now:
                waiting.append((at, plan))
                continue
            try:
                pid = fork_into(lambda parent, plan=plan: self._be(plan, parent), self._let_go)  # type: ignore[misc]
            except OSError as error:  # the process table may not be full in a while
                log.error("worker %s cannot be started: %s; retrying", plan.name, error)
                waiting.append((now + AGAIN_SECONDS, plan))
            else:
                self._alive[pid] = plan
        self._due = waiting

    def _be(self, plan: WorkerPlan, parent: int) -> int:
        """Be a worker, in the forked child."""
        _as_usual(parent)
        for handler in logging.getLogger().handlers:
            handler.setFormatter(logging.Formatter(f"%(asctime)s {plan.name} %(levelname)s %(message)s"))
        return self._become(dataclasses.replace(plan, fork_server=self._fork_server))

    def _reap(self) -> None:
        for pid, status in ended_children():
            if self._fork_server is not None and pid == self._fork_server.pid:
                if not self._stops:
                    log.error("the fork server of the sandboxes ended with %s; stopping", describe(status))
                    self._failed = True
                    self._stops += 1
                continue
            if pid == self._agent_pid:
                self._agent_pid = 0
                if not self._stops:
                    log.error("the agent of this member ended with %s; starting another", describe(status))
                    self._change(self._plans)
                continue
            plan = self._alive.pop(pid, None)  # None: an orphan, which the first process of a container is given
            if plan is not None and not self._stops and not self._changing:
                log.error("worker %s ended with %s; starting another", plan.name, describe(status))
                self._due.append((time.monotonic() + AGAIN_SECONDS, plan))


def _as_usual(parent: int) -> None:
    """Make a forked child end with its parent, and take signals as any process."""
    die_with_parent(parent)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
