"""A job whose worker, queue manager and controller are all scraped."""

import dataclasses
import os
import urllib.request
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from installation import PATIENCE, until
from ports import own_ports
from servers import OWNER, as_superuser

from controller.cluster.embedded import EmbeddedCluster
from controller.databases import open_databases
from controller.jobs.jobs import create_discovery_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from controller.observe.metrics import metrics_served
from core.records import JobOptions
from core.settings import DatabaseAddress, Settings
from core.storage.layer import Storage
from monitoring.metrics import Endpoint
from sql.jobs import get_job
from sql.session import Database

ROLES = ("controller", "queue_manager", "worker")  # at successive ports


@dataclass(frozen=True, slots=True)
class Scraped:
    """Three roles that answer, and the job to be done by them."""

    settings: Settings
    database: Database
    source: Path
    port: int

    @property
    def targets(self) -> dict[str, str]:
        return {role: f"127.0.0.1:{self.port + n}" for n, role in enumerate(ROLES)}

    def scrape(self, role: str) -> str:
        with urllib.request.urlopen(f"http://{self.targets[role]}/metrics", timeout=PATIENCE) as reply:
            return str(reply.read().decode())

    def answers(self) -> bool:
        try:
            return all(self.scrape(role) for role in ROLES)
        except OSError:
            return False

    def run_job(self) -> uuid.UUID:
        """Discover the source; returns once the job is over and all its calls are stored."""
        filer = Storage()
        job = create_discovery_job(
            self.database,
            filer,
            self.settings.storage,
            prepare_source(filer, self.source),
            DiscoveryPlan(options=JobOptions(batch_files=5), name="scraped", workers=1, slots=2),
        )

        def over() -> bool:
            with self.database.transaction() as conn:
                return get_job(conn, job).state.over

        until(over, "the job is over")
        return job


def _fill(source: Path) -> None:
    """Loose files, archives, and one that is cut short."""
    for custodian in ("ann", "bob"):
        (source / custodian).mkdir(parents=True)
        for n in range(12):
            (source / custodian / f"{n}.txt").write_text(f"a note of {custodian}, number {n}\n" * 50)
        with zipfile.ZipFile(source / custodian / "a.zip", "w") as archive:
            for n in range(5):
                archive.writestr(f"{n}.txt", f"member {n}\n" * 100)
    whole = (source / "bob/a.zip").read_bytes()
    (source / "bob/cut.zip").write_bytes(whole[: len(whole) // 2])


@pytest.fixture(scope="module")
def scraped(services: Settings, _migrated: str, open_dir: Path) -> Iterator[Scraped]:
    """One worker of two slots, a queue manager and the controller's endpoint, on a database of their own."""
    name = f"test_{uuid.uuid4().hex}"
    home = open_dir / name
    _fill(home / "source")
    address = DatabaseAddress(name="db1", url=services.databases[0].url.replace("/db1?", f"/{name}?"))
    settings = dataclasses.replace(services, databases=(address,), storage=home / "storage", scratch=home / "scratch")
    as_superuser(services, f"CREATE DATABASE {name} TEMPLATE {_migrated} STRATEGY FILE_COPY OWNER {OWNER}")
    (database,) = open_databases(settings)
    try:
        with own_ports(len(ROLES) + 1) as port:  # the last one is Prometheus'
            endpoint = Endpoint(port)
            with (
                metrics_served(settings, endpoint),
                EmbeddedCluster(settings, 1, 2, env=dict(os.environ) | endpoint.environment()),
            ):
                made = Scraped(settings, database, home / "source", port)
                until(made.answers, "every role answers")
                yield made
    finally:
        database.dispose()
        as_superuser(services, f"DROP DATABASE {name} WITH (FORCE)")
