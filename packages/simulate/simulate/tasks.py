"""Cuts a planned data set into tasks as the pipeline does, each with its demand on a site."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from core.operations import Op
from core.places import FAN_OUT
from core.records import FINALISE_SHARES, ITEM_COST, JobOptions, Phase, full
from simulate.demands import OPS, QUANTITIES, Demands
from simulate.plan import Ints, Plan, is_container
from simulate.site import Site
from worker.phases.walk import DIRECTORIES_A_FOLLOW_ON, DIRECTORIES_A_TASK

Floats = npt.NDArray[np.float64]

# Columns of a task's demand.
CPU, FSA_OPS, FSA_S, FSB_OPS, FSB_S, WAIT_S, NET_BYTES, DISK_READS, DISK_WRITES, DATABASE, DATABASE_IO = range(11)
COLUMNS = 11
_ENTRIES = 10.0  # of a listing, on average
_CHANGES = frozenset({Op.CREATE.label, Op.RENAME.label, Op.REMOVE.label, Op.MKDIR.label})


@dataclass(slots=True, eq=False)
class Task:
    """One task; `order_key` of the queue manager orders it by weight and id."""

    weight: int
    id: int
    items: int
    demand: Sequence[
        float
    ]  # by column: GHz seconds, filer ops and seconds of units, bytes, disk commands, GHz seconds, database I/O
    follow: tuple[Task, ...] = ()  # pending once this one is done
    represents: int = 1  # tasks of the product
    entries: Floats | None = None  # the demand of each of its loose files or items, where it may be cut finer


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLoad:
    """A job: its tasks by phase, in the order of the phases."""

    phases: tuple[tuple[Phase, tuple[Task, ...]], ...]
    items: int
    discovered_bytes: int
    database: int = 0
    options: JobOptions = field(default_factory=JobOptions)  # how its tasks are distributed
    client: str = ""
    # Demand of a task in addition to its items, and of a slot's first task.
    each_task: Mapping[Phase, Sequence[float]] = field(default_factory=dict)
    each_slot: Mapping[Phase, Sequence[float]] = field(default_factory=dict)
    at_s: float = 0.0  # when it arrives, since the start or since the end of `after`
    after: int | None = None  # number of the job that must be over before


@dataclass(slots=True)
class _Numbers:
    """Generator of task ids, in order of creation as in a database."""

    last: int = 0

    def next(self) -> int:
        self.last += 1
        return self.last


_CUT_FINER = 50_000  # entries: a larger job has tasks enough for all slots
MOST_TASKS = 400_000  # of a repeated sample, in one phase: seconds on one core


def jobs_of(plan: Plan, demands: Demands, site: Site, most_tasks: int = MOST_TASKS) -> list[JobLoad]:
    """The jobs that process a data set on the first database: one, or one for each custodian, as the site defines."""
    options = replace(site.options, index_streams=site.index_streams)
    custodians = sorted(plan.directories)
    groups = [[one] for one in custodians] if site.job_per_custodian else [custodians]
    return [
        _job(plan, np.isin(plan.custodian, group), group, demands, site, options, most_tasks // len(groups))
        for group in groups
    ]


def _job(
    plan: Plan, mine: npt.NDArray[np.bool_], custodians: Sequence[int], demands: Demands, site: Site, options: JobOptions, most: int
) -> JobLoad:  # fmt: skip
    numbers = _Numbers()
    loose = np.flatnonzero(mine)
    inside = np.flatnonzero(mine[plan.child_of])
    kind = np.concatenate((plan.kind[loose], plan.child_kind[inside]))
    size = np.concatenate((plan.size[loose], plan.child_size[inside]))
    place = np.full(len(plan.kind), -1)
    place[loose] = np.arange(len(loose))
    owner = np.concatenate((np.arange(len(loose)), place[plan.child_of[inside]]))
    matrices = {phase: site_demand(demands, site, phase) for phase in Phase if phase.value in demands.phases}
    renames = demands.phases[Phase.EXPAND.value]["rename"]
    matrices[Phase.EXPAND] = _with_fan_out(matrices[Phase.EXPAND], renames, kind, site)
    expand, task_of = _expand(plan, loose, owner, kind, size, matrices[Phase.EXPAND], options, numbers)
    index = _index(task_of, kind, size, matrices[Phase.INDEX], options, numbers)
    walk = _walk(plan, loose, custodians, matrices[Phase.WALK], numbers)
    finalise = [Task(1, numbers.next(), len(FINALISE_SHARES), _sum(matrices[Phase.FINALISE], kind, size).tolist())]
    copies = plan.copies
    phases = ((Phase.WALK, walk), (Phase.EXPAND, expand), (Phase.INDEX, index), (Phase.FINALISE, finalise))
    return JobLoad(
        phases=tuple((phase, tuple(_drawn(some, copies, most, numbers))) for phase, some in phases),
        items=len(kind) * copies,
        discovered_bytes=int(size.sum()) * copies,
        options=options,
        each_task={phase: _one(demands.each_task[phase.value], site, phase) for phase in matrices},
        each_slot={phase: _one(demands.each_slot[phase.value], site, phase) for phase in matrices},
    )  # fmt: skip


def _one(of: Mapping[str, float], site: Site, phase: Phase) -> list[float]:
    """A demand without kinds, by column."""
    return list(_columns({name: np.full((1, 1), value) for name, value in of.items()}, site, phase)[0, 0])


def _drawn(tasks: Sequence[Task], copies: int, most: int, numbers: _Numbers) -> list[Task]:
    """Tasks of a data set that is a multiple of the sample: each task is repeated with those that follow it. If these
    are more than `most`, several short ones are simulated as one, about equally long, and long ones alone, because a
    phase ends with them."""
    if copies == 1:
        return list(tasks)
    sizes = [_number(one) for one in tasks]
    long = [_seconds(one) / size or 1e-9 for one, size in zip(tasks, sizes, strict=True)]
    whole = sum(each * size for each, size in zip(long, sizes, strict=True))
    room = whole * copies / max(1, most) if sum(sizes) * copies > most else 0.0
    out = []
    for one, each in zip(tasks, long, strict=True):
        groups = -(-copies // max(1, int(room / each)))
        out += [_times(one, copies * (n + 1) // groups - copies * n // groups, numbers) for n in range(groups)]
    return out


def _number(task: Task) -> int:
    return 1 + sum(map(_number, task.follow))


def _seconds(task: Task) -> float:
    """Seconds of the task and of those that follow it, if none had to wait."""
    return sum(task.demand[column] for column in (CPU, FSA_S, FSB_S, WAIT_S)) + sum(map(_seconds, task.follow))


def _times(task: Task, many: int, numbers: _Numbers) -> Task:
    demand = [one * many for one in task.demand]
    follow = tuple(_times(one, many, numbers) for one in task.follow)
    return Task(task.weight, numbers.next(), task.items * many, demand, follow, many * task.represents)


def site_demand(demands: Demands, site: Site, phase: Phase) -> Floats:
    """The demand of an item and of a byte of each kind: an array of kinds x 2 x columns."""
    return _columns(demands.phases[phase.value], site, phase)


def _columns(of: Mapping[str, Floats], site: Site, phase: Phase) -> Floats:
    out = np.zeros((*of["cpu_s"].shape, COLUMNS))
    for name in OPS:
        moved = {"read": of["read_bytes"], "write": of["written_bytes"]}.get(name, 0.0)
        ask = _ask_emulated if site.emulated else _ask
        ask(out, site, phase, name, of[name], moved)
    out[:, :, CPU] = of["cpu_s"] * site.ghz_seconds[phase.value]
    out[:, :, WAIT_S] += of["wait_s"]
    out[:, :, NET_BYTES] = of["read_bytes"] + of["written_bytes"]
    stripe = site.disks.stripe_bytes
    changes = sum(of[name] for name in OPS if name in _CHANGES)
    out[:, :, DISK_READS] = of["read_bytes"] / stripe + of["read"] * 0.5
    out[:, :, DISK_WRITES] = (
        of["written_bytes"] / stripe * site.disks.stripe_overhead + changes * site.disks.writes_per_change
    )
    out[:, :, DATABASE] = of["database_cpu_s"] * site.database_ghz_seconds[phase.value]
    out[:, :, DATABASE_IO] = of["rows"] * site.database_io_per_row
    return out


def _ask(out: Floats, site: Site, phase: Phase, name: str, calls: Floats, moved: Floats | float) -> None:
    """Add the demand of calls on the filer's units by the site's protocol and service times."""
    found, factor = site.protocol.calls[Op[name.upper()]], site.ops_per_call[phase.value]
    service_s = (site.fsa.change_us if name in _CHANGES else site.fsa.service_us) / 1e6
    transfers = moved / site.protocol.transfer_bytes + calls * 0.5  # the last one of a file is half full
    for ops, times in ((found.each, calls), (found.entry, calls * _ENTRIES), (found.transfer, transfers)):
        for op, number in ops.items():
            asked = times * number * factor
            if op in site.protocol.data:
                out[:, :, FSB_OPS] += asked
                out[:, :, FSB_S] += asked * site.fsb.service_us / 1e6
            else:
                out[:, :, FSA_OPS] += asked
                out[:, :, FSA_S] += asked * service_s


def _ask_emulated(out: Floats, site: Site, phase: Phase, name: str, calls: Floats, moved: Floats | float) -> None:
    """Add the demand of calls on an emulated filer by its own costs, which include its scale: units, and delays of disk
    and wire."""
    model, op = site.emulated, Op[name.upper()]
    assert model is not None
    cost = model.cost(op, indexing=phase is Phase.INDEX)
    size = model.protocol.transfer_bytes if model.protocol else 1 << 62
    transfers = np.maximum(calls, moved / size + calls * 0.5)
    scans = op is Op.SCAN
    for column, demand, unit in (
        (FSA_OPS, cost.metadata_ops, 1.0), (FSA_S, cost.metadata_ns, 1e-9),
        (FSB_OPS, cost.data_ops, 1.0), (FSB_S, cost.data_ns, 1e-9),
    ):  # fmt: skip
        out[:, :, column] += (
            (demand.each + demand.entry * _ENTRIES * scans) * calls + demand.transfer * transfers
        ) * unit
    disk = model.disk
    missed = {Op.READ: disk.read_ms * disk.read_miss, Op.WRITE: disk.write_ms * disk.write_miss}.get(op, 0.0)
    trips = cost.metadata_ops.each + (cost.data_ops.each + cost.data_ops.transfer > 0)
    out[:, :, WAIT_S] += calls * (missed / 1e3 + trips * model.client.round_trip_us / 1e6)


def _sum(matrix: Floats, kind: Ints, size: Ints) -> Floats:
    """The total demand of these items."""
    each = np.bincount(kind, minlength=len(matrix)).astype(np.float64)
    nbytes = np.bincount(kind, weights=size, minlength=len(matrix))
    return np.asarray(each @ matrix[:, 0] + nbytes @ matrix[:, 1])


def _by_task(matrix: Floats, task_of: Ints, kind: Ints, size: Ints, tasks: int, each: Floats | None = None) -> Floats:
    """The demand of each task, over its items; `each`: the share of an item's bytes that counts."""
    moved = size if each is None else size * each
    out = np.empty((tasks, COLUMNS))
    for column in range(COLUMNS):
        values = matrix[kind, 0, column] + matrix[kind, 1, column] * moved
        out[:, column] = np.bincount(task_of, weights=values, minlength=tasks)
    return out


def _cut(
    costs: Iterable[int], groups: Iterable[int], options: JobOptions, entry_cost: int = 0
) -> tuple[list[int], list[int], list[int]]:
    """Cut entries into batches of one group each. Return the batch of each entry, and entries and cost of each
    batch."""
    batch_of, entries, cost = [], [], []
    number, held, total, group_now = -1, 0, 0, None
    most, most_cost = options.batch_files, options.batch_bytes
    for one, group in zip(costs, groups, strict=True):
        one += entry_cost
        if number < 0 or group != group_now or full(held, total, one, most, most_cost):
            if number >= 0:
                entries.append(held)
                cost.append(total)
            number, held, total, group_now = number + 1, 0, 0, group
        batch_of.append(number)
        held += 1
        total += one
    if number >= 0:
        entries.append(held)
        cost.append(total)
    return batch_of, entries, cost


def _expand(
    plan: Plan, loose: Ints, owner: Ints, kind: Ints, size: Ints, matrix: Floats, options: JobOptions, numbers: _Numbers
) -> tuple[list[Task], Ints]:
    """Tasks of phase expand, and by item the number of its task. Big containers are cut into ranges, tasks of their own."""
    count = len(loose)
    batch_of, entries, cost = _cut(size[:count].tolist(), plan.custodian[loose].tolist(), options)
    batch = np.array(batch_of, np.int64)
    big = np.flatnonzero(is_container(kind[:count]) & (size[:count] > options.split_bytes))
    task_of = batch[owner] if count else np.zeros(0, np.int64)
    share = np.ones(len(kind))
    made = len(entries)
    parts_of: dict[int, list[tuple[int, int]]] = {}  # by batch: its ranges' weights and numbers
    virtual: list[tuple[int, int]] = []  # of each range: its container and the bytes that it reads
    for file in big.tolist():
        parts = -(-int(size[file]) // options.split_bytes)
        children = count + np.flatnonzero(owner[count:] == file)
        task_of[children] = made + np.arange(len(children)) * parts // max(1, len(children))
        share[file] = 0.5  # read once to be hashed, and its ranges once
        parts_of.setdefault(int(batch[file]), []).extend(
            (int(size[file]) // parts + ITEM_COST, made + n) for n in range(parts)
        )
        virtual += [(file, int(size[file]) // parts)] * parts
        made += parts
    demand = _by_task(matrix, task_of, kind, size, made, share)
    here = task_of < len(entries)
    each = _by_task(matrix, owner[here], kind[here], size[here], count, share[here]) if count <= _CUT_FINER else None
    for number, (file, nbytes) in enumerate(virtual, len(entries)):
        demand[number] += matrix[kind[file], 1] * nbytes * 0.5
    items = np.bincount(task_of, minlength=made)
    tasks = []
    ends = np.cumsum(entries)
    for n in range(len(entries)):
        follow = tuple(
            Task(weight, numbers.next(), int(items[at]), demand[at].tolist()) for weight, at in parts_of.get(n, ())
        )
        weight = cost[n] + ITEM_COST * entries[n]
        own = None if each is None else each[ends[n] - entries[n] : ends[n]]
        tasks.append(Task(weight, numbers.next(), int(items[n]), demand[n].tolist(), follow, entries=own))
    return tasks, task_of


def _with_fan_out(matrix: Floats, renames: Floats, kind: Ints, site: Site) -> Floats:
    """Add the folders that files are published in: each is made by its first file, whose creation fails once before."""
    published = float(renames[kind, 0].sum())
    folders = FAN_OUT * -math.expm1(-published / FAN_OUT)
    making = _columns(
        {name: np.full((1, 1), float(name in ("mkdir", "create"))) for name in QUANTITIES}, site, Phase.EXPAND
    )
    return matrix + making * renames[:, :, None] * (folders / max(1.0, published))


def _index(task_of: Ints, kind: Ints, size: Ints, matrix: Floats, options: JobOptions, numbers: _Numbers) -> list[Task]:
    """Tasks of phase index: the items found by a task of phase expand, in batches."""
    order = np.argsort(task_of, kind="stable")
    kind, size = kind[order], size[order]
    costs = np.where(is_container(kind), 0, size)
    batch_of, entries, cost = _cut(costs.tolist(), task_of[order].tolist(), options, ITEM_COST)
    demand = _by_task(matrix, np.array(batch_of, np.int64), kind, size, len(entries)).tolist()
    each = _by_task(matrix, np.arange(len(kind)), kind, size, len(kind)) if len(kind) <= _CUT_FINER else None
    ends = np.cumsum(entries)
    return [
        Task(
            cost[n],
            numbers.next(),
            entries[n],
            demand[n],
            entries=None if each is None else each[ends[n] - entries[n] : ends[n]],
        )
        for n in range(len(entries))
    ]


def _walk(plan: Plan, loose: Ints, custodians: Sequence[int], matrix: Floats, numbers: _Numbers) -> list[Task]:
    """Tasks of phase walk: each lists some directories, breadth first; the others become tasks that follow."""
    out = []
    for custodian in custodians:
        files = loose[plan.custodian[loose] == custodian]
        total = _sum(matrix, plan.kind[files], plan.size[files])
        out.append(_tree(plan.directories[custodian], len(files), total / plan.directories[custodian], numbers))
    return out


def _tree(directories: int, files: int, each: Floats, numbers: _Numbers) -> Task:
    mine = min(directories, DIRECTORIES_A_TASK)
    rest = directories - mine
    groups = min(-(-rest // DIRECTORIES_A_TASK), DIRECTORIES_A_FOLLOW_ON)
    follow = tuple(
        _tree(rest * (n + 1) // groups - rest * n // groups, files // max(1, groups), each, numbers)
        for n in range(groups)
    )
    return Task(DIRECTORIES_A_FOLLOW_ON, numbers.next(), max(1, mine), (each * mine).tolist(), follow)
