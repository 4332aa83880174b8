"""promtool's word on the scrape configuration, the rules, and what the rules do."""

import subprocess
from pathlib import Path

import pytest
from debian_programs import program

DIRECTORY = Path(__file__).parents[3] / "monitoring/prometheus"


@pytest.mark.parametrize(
    "command",
    [
        ("check", "config", "--lint-fatal", "prometheus.yml"),
        ("check", "rules", "--lint-fatal", "rules/edbench.rules.yml"),
        ("test", "rules", "tests/edbench.test.yml"),
    ],
)
def test_promtool_finds_nothing_wrong(command: tuple[str, ...]) -> None:
    line = (program("promtool", "prometheus"), *command)
    done = subprocess.run(line, cwd=DIRECTORY, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test() -> None:
    alerts = {
        line.split()[-1]
        for line in (DIRECTORY / "rules/edbench.rules.yml").read_text().splitlines()
        if line.strip().startswith("- alert:")
    }
    tests = (DIRECTORY / "tests/edbench.test.yml").read_text()
    fired = {block.split("\n", 1)[0].strip() for block in tests.split("alertname: ")[1:] if "exp_labels" in block}
    assert alerts
    assert alerts <= fired
