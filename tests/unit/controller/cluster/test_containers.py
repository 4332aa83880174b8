"""Worker containers that `edbench scale` starts, and workers of another version."""

import datetime
import uuid
from pathlib import Path
from typing import Any

import pytest

from controller.cluster.containers import like, scale
from controller.jobs.run import refuse_other_versions
from core.errors import SystemFault, UsageError
from sql.workers import WorkerRow

# Cut from what `docker inspect` shows.
TEMPLATE: dict[str, Any] = {
    "Config": {
        "Hostname": "0123456789ab",
        "Image": "edbench:latest",
        "Cmd": ["python", "-m", "worker"],
        "Env": ["EDBENCH_SLOTS=4", "PATH=/bin"],
        "Labels": {"com.docker.compose.service": "worker", "com.docker.compose.container-number": "1"},
    },
    "HostConfig": {"Binds": ["edbench_scratch:/scratch:rw"], "NanoCpus": 2_000_000_000, "Memory": 2_147_483_648},
}


def test_a_further_container_is_like_the_first() -> None:
    """Everything, limits of CPU and memory too, but the host name, which is the container's id, and its number."""
    body = like(TEMPLATE, 3)
    assert body["Env"] == TEMPLATE["Config"]["Env"]
    assert "Hostname" not in body
    assert body["HostConfig"] == TEMPLATE["HostConfig"]
    assert body["Labels"]["com.docker.compose.container-number"] == "3"
    assert TEMPLATE["Config"]["Labels"]["com.docker.compose.container-number"] == "1"


def test_an_engine_that_does_not_answer_is_reported_in_the_systems_words(tmp_path: Path) -> None:
    """Not by the client's exceptions, which show nested ones as Python writes them."""
    with pytest.raises(SystemFault) as fault:
        scale({"DOCKER_HOST": f"unix://{tmp_path}/none"}, 1)
    said = "the Docker engine does not answer (No such file or directory); check that it runs, and DOCKER_HOST"
    assert str(fault.value) == said


def test_a_live_worker_of_another_version_is_refused() -> None:
    now = datetime.datetime.now(datetime.UTC)
    row = WorkerRow(
        incarnation=uuid.uuid4(), name="w1", host="h", pid=1, slots=4, version="0.0.1", started_at=now, seen_at=now,
        stopped_at=None, live=True,
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"worker w1 on h is edbench 0\.0\.1, this command is 1"):
        refuse_other_versions([row], "1")
