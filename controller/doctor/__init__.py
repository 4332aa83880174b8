"""The checks of `edbench doctor`: each looks at one thing and reports what to fix."""

from controller.doctor.checks import run_checks
from controller.doctor.storage import Finding, Level

__all__ = ["Finding", "Level", "run_checks"]
