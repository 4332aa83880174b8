"""A campaign: an undisturbed run of every kind, then run after run with faults, each checked, each written down.

What a run does follows from seed and number alone (`plan`); when exactly a fault comes, from the moments that the
processes come to (`moments`); what has to hold afterwards stands in `check`."""

import dataclasses
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos import kinds
from chaos.faults.base import Fault
from chaos.kinds import Kind
from chaos.moments import Moments
from chaos.needs import needs_of
from chaos.plan import RunPlan, Strike, plan_run
from chaos.run import Ended, Striker, Testbed, Usual
from chaos.site import NETWORK, SLOTS, SOURCE, Site
from chaos.source import Source, candidates_of, copied
from core.errors import EdbenchError, UsageError
from core.settings import Settings

_PLUGINS = ("chaos.worker_plugin",)
_WARM_UP = 1  # undisturbed runs of a kind that do not count: imports, caches


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a campaign is asked to do."""

    corpus: Path
    faults: tuple[Fault, ...]
    kinds: tuple[Kind, ...]
    fault_names: str  # as a person says which
    kind_names: str
    numbers: range  # of the runs
    seed: int


class Campaign:
    """`run` does it."""

    def __init__(self, settings: Settings, env: Mapping[str, str], order: Order, say: Callable[[str], None]) -> None:
        if not settings.embedded:
            raise UsageError("chaos kills its services, so it starts its own: unset EDBENCH_DATABASES")
        self._settings = settings
        self._env = env
        self._order = order
        self._say = say
        self._home = settings.scratch / "chaos"
        self._plain = Source(corpus=order.corpus, own=False, candidates=candidates_of(order.corpus))
        self._strikers: list[Striker] = []
        self._usual: dict[str, Usual] = {}
        self._faults = {fault.name: fault for fault in order.faults}

    def run(self) -> Iterator[dict[str, Any]]:
        """Do the runs; each as JSON, once it has ended. Raises EdbenchError when the site cannot be started."""
        with Moments(self._strike) as moments, self._site(moments) as site:
            testbed = Testbed(site=site, moments=moments, strikers=self._strikers)
            for number in self._order.numbers:
                yield self._one(testbed, number)

    def plan(self, number: int) -> RunPlan:
        """What the run of that number does."""
        courses = [kind.course for kind in self._order.kinds]
        return plan_run(self._order.seed, number, self._order.faults, courses)

    def _site(self, moments: Moments) -> Site:
        storage, faults = self._settings.storage / "chaos", self._order.faults
        return Site(
            dataclasses.replace(
                self._settings, scratch=self._home / "site", storage=storage, slots=SLOTS, plugins=_PLUGINS
            ),
            self._env,
            str(moments.path),
            needs_of(faults),
        )

    def _strike(self, strike: Strike, peer: int) -> None:
        if self._strikers:
            self._strikers[0].strike(strike, peer)

    def _one(self, testbed: Testbed, number: int) -> dict[str, Any]:
        """Do one run and print how it ended."""
        plan = self.plan(number)
        kind = next(k for k in self._order.kinds if k.name == plan.kind)
        began = time.monotonic()
        usual = self._usual.get(kind.name) or self._undisturbed(testbed, kind)
        ended = self._run(testbed, kind, plan, usual)
        row = self._row(ended, time.monotonic() - began)
        self._report(plan, ended, row["took"])
        if not ended.survived:
            self._keep(testbed.site, number)
        return row

    def _undisturbed(self, testbed: Testbed, kind: Kind) -> Usual:
        """What a run of a kind comes to when nothing happens: the faster of two, and that has to be right."""
        like = next((k for k in kinds.ALL if k.name == kind.like), None)
        model = (self._usual.get(like.name) or self._undisturbed(testbed, like)) if like else None
        plan = RunPlan(seed=self._order.seed, number=-1, kind=kind.name, strikes=())
        runs: list[Usual] = []
        for _ in range(_WARM_UP + 1):
            testbed.site.wait_until_ready()
            ended, usual = testbed.run(kind, plan, {}, model, self._plain)
            if not ended.survived:
                raise EdbenchError(f"an undisturbed run ({kind.name}) is not right: {'; '.join(ended.faults)}")
            runs.append(usual)
        best = min(runs, key=lambda usual: usual.seconds)
        self._usual[kind.name] = dataclasses.replace(best, arrivals=model.arrivals) if model else best
        self._say(f"undisturbed: {kind.name}: {self._usual[kind.name].seconds:.2f} s")
        return self._usual[kind.name]

    def _run(self, testbed: Testbed, kind: Kind, plan: RunPlan, usual: Usual) -> Ended:
        site = testbed.site
        site.need(own_network=NETWORK in needs_of(self._faults[strike.fault] for strike in plan.strikes))
        site.renew()
        site.wait_until_ready()
        source = self._source(plan)
        ended, _ = testbed.run(kind, plan, self._faults, usual, source)
        if source.own and ended.survived:
            shutil.rmtree(source.corpus)
        left = site.stopped()
        if not left:
            return ended
        site.continue_all()
        return dataclasses.replace(ended, faults=(*ended.faults, f"still stopped: {left}"))

    def _source(self, plan: RunPlan) -> Source:
        """What the run's job reads: a copy of its own where a fault spoils it."""
        faults = [self._faults[strike.fault] for strike in plan.strikes]
        if SOURCE not in needs_of(faults):
            return dataclasses.replace(self._plain, spoiled=[])
        place = self._home / "sources" / str(plan.number)
        shutil.rmtree(place, ignore_errors=True)
        source = copied(self._order.corpus, place, self._plain.candidates)
        for fault in faults:
            if fault.prepare is not None:
                fault.prepare(source)
        return source

    def _row(self, ended: Ended, took: float) -> dict[str, Any]:
        plan = ended.plan
        return {
            "number": plan.number,
            "kind": plan.kind,
            "planned": [strike.fault for strike in plan.strikes],
            "struck": list(ended.struck),
            "seconds": round(ended.seconds, 3),
            "lost": round(ended.lost, 3),
            "took": round(took, 3),
            "resumes": ended.resumes,
            "reason": ended.reason,
            "faults": list(ended.faults),
            "plan": dataclasses.asdict(plan),
            "repeat": self.repeat(plan.number),
        }

    def repeat(self, number: int) -> str:
        """The command that does one run again."""
        order = self._order
        return (
            f"python tests/chaos --corpus {shlex.quote(str(order.corpus))} --faults {order.fault_names} --kind {order.kind_names}"
            f" --seed {order.seed} --first {number} --runs 1"
        )

    def _report(self, plan: RunPlan, ended: Ended, took: float) -> None:
        word = "survived" if ended.survived else "FAILED"
        struck = "" if ended.struck else " (no fault found its moment)"
        self._say(f"{plan.title}: {word}, {ended.lost:.1f} s lost, {took:.1f} s{struck}")
        for line in ended.faults[:8]:
            self._say(f"    {line}")

    def _keep(self, site: Site, number: int) -> None:
        """The whole scratch directory of a failed run, its databases and logs in it; the next run has a new one."""
        site.close()
        kept = self._home / "failed" / f"{self._order.seed}-{number}-{int(time.time())}"
        kept.mkdir(parents=True)
        for part in (self._home / "site", *self._home.glob("*.img")):
            part.rename(kept / part.name)
        self._say(f"    kept: {kept}; again: {self.repeat(number)}")
        site.restart()
