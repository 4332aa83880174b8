"""What is scraped of a real job, against the ledger, against docs/metrics.md, and in a real Prometheus."""

import contextlib
import json
import re
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dashboards import DASHBOARDS
from debian_programs import program
from installation import PATIENCE, until
from prometheus_binary import as_asked, ask, query
from prometheus_client.parser import text_string_to_metric_families

from monitoring.metrics import SPECS

REPOSITORY = Path(__file__).parents[3]
RULES = REPOSITORY / "monitoring/prometheus/rules/edbench.rules.yml"


@pytest.fixture(scope="module")
def prometheus(scraped: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one that scrapes all roles every second, with our rules."""
    binary = program("prometheus", "prometheus")
    home = tmp_path_factory.mktemp("prometheus")
    jobs = [{"job_name": role, "static_configs": [{"targets": [at]}]} for role, at in scraped.targets.items()]
    every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": [str(RULES)], "scrape_configs": jobs}
    (home / "prometheus.yml").write_text(json.dumps(config))  # which is YAML
    address = f"127.0.0.1:{scraped.port + len(scraped.targets)}"
    options = {"config.file": home / "prometheus.yml", "storage.tsdb.path": home / "data", "log.level": "warn"}
    options["web.listen-address"] = address
    process = subprocess.Popen(
        [binary, *(f"--{name}={value}" for name, value in options.items())],
        cwd=home,
        stdout=(home / "log").open("wb"),
        stderr=subprocess.STDOUT,
    )
    url = f"http://{address}"

    def all_up() -> bool:
        assert process.poll() is None, (home / "log").read_text()
        try:
            urllib.request.urlopen(f"{url}/-/ready", timeout=PATIENCE).close()
        except OSError:
            return False
        return len(query(url, "up == 1")) == len(scraped.targets)

    try:
        until(all_up, "every role is scraped")
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def job(scraped: Any, request: pytest.FixtureRequest) -> uuid.UUID:
    """The job, done while Prometheus looks; where there is none, only the test that asks for it says so."""
    with contextlib.suppress(pytest.skip.Exception, pytest.fail.Exception):
        request.getfixturevalue("prometheus")
    return uuid.UUID(str(scraped.run_job()))


def samples(text: str) -> dict[str, float]:
    """Sums by name and by name{one label}."""
    out: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            for key in (sample.name, *(f"{sample.name}:{value}" for value in sample.labels.values())):
                out[key] = out.get(key, 0.0) + sample.value
    return out


def test_the_counters_are_those_of_the_ledger(scraped: Any, job: uuid.UUID) -> None:
    with scraped.database.transaction() as conn:
        one = lambda sql: conn.execute(sql).scalar_one()  # noqa: E731
        items, exceptions = one("SELECT count(*) FROM item"), one("SELECT count(*) FROM exception")
        texts = one("SELECT count(*) FROM item_text")
        tasks = one("SELECT count(*) FROM task WHERE state = 'done' AND attempt = 1")
        raw, extracted = one("SELECT sum(raw_bytes) FROM task"), one("SELECT sum(extracted_bytes) FROM task")
    # A slot counts a task when the database has it, and so perhaps a moment after the job is over.
    busy = lambda: samples(scraped.scrape("worker")).get("edbench_tasks_total", 0.0) < tasks  # noqa: E731
    until(lambda: not busy(), "all tasks are counted")
    found = samples(scraped.scrape("worker"))
    assert items > 30
    assert exceptions
    assert found["edbench_items_total"] == items
    assert found["edbench_texts_total"] == texts
    assert found["edbench_exceptions_total"] == exceptions
    assert found["edbench_tasks_total"] == found["edbench_tasks_total:done"] == tasks
    assert found["edbench_raw_bytes_total"] == raw
    assert found["edbench_extracted_bytes_total"] == extracted
    assert found["edbench_slot_busy_seconds_total"] > 0
    assert found["edbench_database_transaction_seconds_count"] > 2 * tasks
    assert samples(scraped.scrape("queue_manager"))["edbench_queue_dispatched_total"] >= tasks

    def stored() -> bool:
        with scraped.database.transaction() as conn:
            rows = conn.execute("SELECT sum(calls) FROM call_second").scalar_one() or 0
        return bool(rows == samples(scraped.scrape("worker"))["edbench_calls_total"])

    until(stored, "Prometheus is told of as many calls as the database")


def test_every_metric_is_in_the_table(scraped: Any, job: uuid.UUID) -> None:
    """docs/metrics.md has exactly the catalogue's rows, and each role exposes what they say and nothing else."""
    rows = re.findall(r"^\| `(edbench_\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|$", _document(), re.M)
    assert {name: [cell.strip() for cell in cells] for name, *cells in rows} == {
        spec.name: [spec.type, ", ".join(spec.labels), spec.unit, ", ".join(spec.roles), spec.help]
        for spec in SPECS.values()
    }
    # Space is asked for in a thread of its own, so that it comes a second later than the rest.
    until(lambda: "edbench_space_bytes{" in scraped.scrape("worker"), "the worker tells of space")
    for role in scraped.targets:
        exposed = set()
        for family in text_string_to_metric_families(scraped.scrape(role)):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            exposed.add(name)
            spec = SPECS[name]
            assert (spec.type, role in spec.roles) == (family.type, True), name
            for sample in family.samples:
                assert set(sample.labels) - {"le"} == set(spec.labels), sample
                assert not any("/" in value for value in sample.labels.values()), sample
        host = ("edbench_wire_", "edbench_block_")  # where there is such a mount or disk
        wanted = {s.name for s in SPECS.values() if role in s.roles and not s.name.startswith(host)}
        assert wanted <= exposed, wanted - exposed


def _document() -> str:
    return (REPOSITORY / "docs/metrics.md").read_text()


def test_every_query_finds_something(scraped: Any, job: uuid.UUID, prometheus: str) -> None:
    until(lambda: query(prometheus, "sum(edbench_jobs) > 0"), "the job was scraped")
    until(lambda: query(prometheus, "edbench:raw_gb_per_hour:rate1m > 0"), "the rules were evaluated")
    for dashboard in DASHBOARDS:
        for expr, label in dashboard.variables:
            (first, *_) = until(partial(query, prometheus, expr), f"{dashboard.uid}: {expr} finds something")
            assert first["metric"][label]
        for wanted in dashboard.queries:
            look = partial(query, prometheus, as_asked(wanted.expr))  # a rate takes two scrapes
            if wanted.everywhere:
                until(look, f"{dashboard.uid}: {wanted.legend}: {wanted.expr} finds something")
            else:
                look()
    for group in ask(prometheus, "rules")["groups"]:
        for rule in group["rules"]:
            assert rule["health"] == "ok", rule
            if rule["type"] == "recording":
                until(partial(query, prometheus, rule["query"]), f"{rule['name']} finds something")
    firing = {alert["labels"]["alertname"] for alert in ask(prometheus, "alerts")["alerts"]}
    assert not firing & {"EdbenchNoProgress", "EdbenchProcessDown", "EdbenchRoleMissing", "EdbenchNoDispatcher"}
