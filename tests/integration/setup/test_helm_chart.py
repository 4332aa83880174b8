"""The Helm chart: what `helm` renders is valid Kubernetes, and its containers are those of docker-compose.yml."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from core.services.keyring import Given, make_secrets

REPOSITORY = Path(__file__).parents[3]
CHART = REPOSITORY / "deploy" / "helm" / "edbench"
CUSTOM = {"ServiceMonitor", "TriggerAuthentication", "ScaledObject"}  # of operators: Kubernetes has no schema of them
SETTINGS: dict[str, list[str]] = {
    "a claim of its own": ["storage.claim.size=10Ti", "storage.claim.storageClass=nfs", "postgresql.servers=3"],
    "a directory of each node": ["storage.hostPath=/mnt/filer", "worker.onePerNode=false", "evidence.hostPath=/mnt/evidence"],
    "servers of its own": [
        "storage.existingClaim=filer", "evidence.existingClaim=evidence", "postgresql.bundled=false", "broker.bundled=false",
        r"postgresql.databases=db1=postgresql+psycopg2://a:5432/edbench\,db2=postgresql+psycopg2://b:5433/edbench",
        "broker.url=redis://c:6379/0", "imagePullSecrets[0].name=registry", "worker.nodeSelector.disk=ssd",
    ],
    "operators": ["storage.existingClaim=filer", "serviceMonitor.enabled=true", "keda.enabled=true", "env.EDBENCH_OBSERVE=0"],
}  # fmt: skip


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("helm")
    if program is None:
        assert os.environ.get("CI") != "true" or "NO_HELM" in os.environ, ".ci/run installs helm"
        pytest.skip("no helm on this machine: `go install helm.sh/helm/v4/cmd/helm@v4.3.1`")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=300)


def options(settings: list[str]) -> list[str]:
    return [option for setting in settings for option in ("--set", setting)]


@pytest.fixture(params=SETTINGS, scope="module")
def objects(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """What the chart makes with these settings."""
    done = helm("template", "run", str(CHART), *options(SETTINGS[request.param]))
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def pods(objects: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and specification of each."""
    for each in objects:
        if "template" in each.get("spec", {}):
            yield each["metadata"]["name"], each["spec"]["template"]["spec"]


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_lint(settings: list[str]) -> None:
    done = helm("lint", "--strict", str(CHART), *options(settings))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", ["1.28", "1.37"])
def test_every_object_is_valid(objects: list[dict[str, Any]], version: str) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names)) > 8
    for each in objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, version, strict=True)


def test_no_container_has_a_privilege(objects: list[dict[str, Any]]) -> None:
    for name, pod in pods(objects):
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["runAsUser"] > 0, name
        assert pod["automountServiceAccountToken"] is False, name
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            context = container["securityContext"]
            assert context == {
                "readOnlyRootFilesystem": True,
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }


def test_each_role_sees_only_its_own_secret(objects: list[dict[str, Any]]) -> None:
    """The superuser's password is seen by the servers and by what creates the logins."""
    seen: dict[str, set[str]] = {}
    for _, pod in pods(objects):
        holds = {}
        for volume in pod["volumes"]:
            if "secret" in volume:
                holds[volume["name"]] = {volume["secret"]["secretName"]}
            elif "projected" in volume:
                holds[volume["name"]] = {source["secret"]["name"] for source in volume["projected"]["sources"]}
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            mounted = [holds.get(mount["name"], set()) for mount in container.get("volumeMounts", ())]
            seen.setdefault(container["name"], set()).update(*mounted)
    assert seen["worker"] == {"run-worker"}
    assert seen["queue-manager"] == {"run-queue-manager"}
    assert seen["controller"] == {"run-controller"}
    assert {name for name, secrets in seen.items() if "run-database" in secrets} <= {
        "postgresql",
        "logins",
        "provisioner",
    }


def test_the_containers_run_what_compose_runs(objects: list[dict[str, Any]]) -> None:
    compose = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    for name, pod in pods(objects):
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            service = compose.get(
                {"queue-manager": "queue_manager", "users": ""}.get(container["name"], container["name"])
            )
            if service is None or container["name"] == "broker":
                continue
            assert container["command"][:3] == [part.replace("$$", "$") for part in service["command"]][:3], name
            extra = {"EDBENCH_CORPORA", "EDBENCH_STORAGE", "EDBENCH_SHARED_TYPE", "EDBENCH_OBSERVE"}
            assert {each["name"] for each in container.get("env", ())} <= {*service["environment"], *extra}, name
            if "-m" in container["command"]:
                assert importlib.util.find_spec(container["command"][2]), name


def test_the_brokers_users_are_those_of_compose(objects: list[dict[str, Any]], tmp_path: Path) -> None:
    """The script of the init container is run here, with the secrets that Compose generates."""
    make_secrets(tmp_path, Given())
    for _, pod in pods(objects):
        for container in pod.get("initContainers", ()):
            if container["name"] == "users":
                script = (
                    container["command"][2].replace("/secrets", str(tmp_path)).replace("/users/", f"{tmp_path}/chart-")
                )
                subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=True, timeout=300)
                assert (tmp_path / "chart-users.acl").read_text() == (tmp_path / "broker/users.acl").read_text()


def test_the_broker_and_the_databases_start_as_in_compose() -> None:
    compose = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    broker = (CHART / "templates" / "broker.yaml").read_text()
    for line in compose["broker"]["command"][2].replace("$$", "$").replace("/secrets/", "/users/").splitlines():
        assert line.strip() in broker
    databases = (CHART / "templates" / "databases.yaml").read_text()
    assert compose["db1"]["entrypoint"][2].replace("$$", "$") in databases
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for service, image in (("db1", values["postgresql"]["image"]), ("broker", values["broker"]["image"])):
        assert compose[service]["image"].endswith(f":-{image}}}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([], "set storage.existingClaim, storage.hostPath, or storage.claim.size"),
        (["storage.hostPath=/a", "storage.existingClaim=b"], "set one of storage.existingClaim and storage.hostPath"),
        (["storage.hostPath=/a", "broker.bundled=false"], "broker.url is required where broker.bundled is false"),
        (["storage.hostPath=/a", "secrets.token=short"], "secrets.token must have at least 16 characters"),
    ],
)
def test_missing_settings_are_named(settings: list[str], message: str) -> None:
    done = helm("template", "run", str(CHART), *options(settings))
    assert done.returncode != 0
    assert message in done.stderr
