"""The dashboards: `edbench-run` has the charts of the run page, `edbench-system` what the parts say of themselves."""

from __future__ import annotations

from monitoring.grafana.model import Dashboard, Variable
from monitoring.grafana.panels_hosts import FILER, HOSTS
from monitoring.grafana.panels_system import QUEUE, RECORDS, ROLES, TRANSACTIONS
from monitoring.grafana.panels_work import DATABASES, STORAGE, WORK

_WORKER = Variable(name="worker", label="Workers", expr="edbench_slots", of="instance")
_OP = Variable(name="op", label="Latency of", expr="sum by (op) (edbench_calls_total) > 0", of="op")

RUN = Dashboard(
    uid="edbench-run",
    title="edbench: run",
    variables=(_WORKER, _OP),
    rows={
        "Work": WORK,
        "Storage calls": STORAGE,
        "Databases and queue": DATABASES,
        "Slots and hosts": HOSTS,
        "The filer, by the kernels' counters": FILER,
    },
)
SYSTEM = Dashboard(
    uid="edbench-system",
    title="edbench: system",
    variables=(_WORKER,),
    rows={"Roles": ROLES, "Queue": QUEUE, "Transactions": TRANSACTIONS, "Records": RECORDS},
)
DASHBOARDS = (RUN, SYSTEM)
