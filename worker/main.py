"""`python -m worker --name w1 --slots 4`: one worker, with its settings from EDBENCH_* variables; with `--workers 30` so
many, w1, w2, …, forked from one process."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from core.errors import EdbenchError, UsageError
from core.program import without_logins
from core.settings import read_settings
from monitoring.metrics import NOWHERE, read_endpoint
from worker.crowd import Crowd
from worker.host.registration import refuse_strange_host
from worker.member.agent import Agent
from worker.parsers import load_plugins
from worker.run_task import handle
from worker.supervisor import Supervisor, WorkerPlan

MOST_WORKERS = 1_000


def _number(env: Mapping[str, str], key: str, default: float) -> float:
    text = env.get(key) or str(default)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise UsageError(f"{key} is {text!r}; it must be a number of at least 0")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Workers that the command line and the environment order."""

    each: list[WorkerPlan]  # a plan for each worker
    offered: int = 0  # workers that an experiment may have; 0: the process is no member of the crew
    idle: bool = False  # no worker until one is ordered


def make_plans(arguments: Sequence[str], env: Mapping[str, str]) -> Plans:
    """Read the command line and the environment. Raises UsageError (SystemExit for a bad option)."""
    settings = read_settings(env)
    parser = argparse.ArgumentParser(prog="python -m worker", description="Run a worker of edbench.")
    parser.add_argument(
        "--name", default=f"{socket.gethostname()}-{os.getpid()}", help="name, unique among all running workers"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        help="number of workers; their numbers are appended to the name, and they expose no metrics",
    )
    parser.add_argument("--slots", type=int, default=settings.slots, help="number of tasks at a time (EDBENCH_SLOTS)")
    parser.add_argument(
        "--grace",
        type=float,
        default=_number(env, "EDBENCH_GRACE_S", 10.0),
        help="seconds that a running task gets to finish when the worker is stopped (EDBENCH_GRACE_S)",
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="take tasks of the configured databases only; offer no workers to experiments",
    )
    parser.add_argument("--idle", action="store_true", help="start no worker until an experiment orders it")
    options = parser.parse_args(arguments)
    if options.slots < 1:
        raise UsageError(f"--slots is {options.slots}; a worker has at least one slot")
    if not 0 <= options.workers <= MOST_WORKERS:
        raise UsageError(f"--workers is {options.workers}; it must be from 1 to {MOST_WORKERS}")
    one = WorkerPlan(
        settings=dataclasses.replace(settings, slots=options.slots),
        name=options.name,
        handle=handle,
        grace_seconds=options.grace,
        metrics=read_endpoint(env),
    )
    offered = 0 if options.alone else max(1, options.workers)
    if not options.workers:
        return Plans(each=[one], offered=offered, idle=options.idle)
    numbers = range(1, options.workers + 1)
    each = [dataclasses.replace(one, name=f"{options.name}{n}", metrics=NOWHERE) for n in numbers]
    return Plans(each=each, offered=offered, idle=options.idle)


def main(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Run; return the exit status: 0 after an orderly stop, 2 if it cannot work as requested, 1 for anything else."""
    try:
        plans = make_plans(arguments, env)
        plan = plans.each[0]
        logging.basicConfig(
            level=logging.getLevelName(plan.settings.log_level.upper()),
            format=f"%(asctime)s {plan.name} %(levelname)s %(message)s",
        )
        if not plan.settings.databases or not plan.settings.broker:
            raise UsageError(
                "a worker needs EDBENCH_DATABASES and EDBENCH_BROKER; `edbench discover` sets them for its own workers"
            )
        refuse_strange_host(plan.settings)
        load_plugins(plan.settings.plugins)  # before the slots are forked
        if not plans.offered:
            return Supervisor(plan).run() if len(plans.each) == 1 else Crowd(plans.each).run()
        return Crowd([] if plans.idle else plans.each, like=plan, agent=_agent(plan, env, plans.offered)).run()
    except EdbenchError as error:
        sys.stderr.write(f"edbench: {without_logins(str(error))}\n")
        return 2 if isinstance(error, UsageError) else 1


def _agent(plan: WorkerPlan, env: Mapping[str, str], offered: int) -> Callable[[Connection, int], int]:
    return lambda pipe, crowd: Agent(plan, env, offered, pipe, crowd).run()


def run() -> int:
    """Run `main` with this process's arguments and environment."""
    return main(sys.argv[1:], os.environ)
