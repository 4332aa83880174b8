"""monitoring.metrics: what the collectors make of what is counted, and a real scrape."""

import socket
import urllib.request
import uuid

import pytest
from made_records import delta, loose_file
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from core.errors import UsageError
from core.histogram import Histogram, bucket_of
from core.job_types import FileKind
from core.records import ExceptionLevel, Phase
from monitoring import metrics
from monitoring.metrics import SPECS, Endpoint, make_registry, read_endpoint
from monitoring.observations import BLOCK, SPACE, WIRE, WORKER, Observation
from monitoring.tally import CallCounters, Outcome, tally_bytes
from monitoring.worker_metrics import CallMetrics, ObservedMetrics, TallyMetrics
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from sql.findings import ItemException, ItemText, TaskResult


def samples(*collectors: Collector) -> dict[str, float]:
    """Values by `name{label="value",…}`, as the text has them."""
    text = generate_latest(make_registry(collectors)).decode()
    return {
        sample.name + "{" + ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items())) + "}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_calls_and_latencies_add_up() -> None:
    calls = CallMetrics()
    calls.add([delta([1_000, 300_000], errors=1), delta([2_000_000_000, 1 << 50], errors=1)])
    found = samples(calls)
    assert found["edbench_calls_total{op=read}"] == 4
    assert found["edbench_call_bytes_total{op=read}"] == 40
    assert found["edbench_call_errors_total{op=read}"] == 2
    assert found["edbench_calls_total{op=rename}"] == 0
    assert found["edbench_call_seconds_bucket{le=4.096e-06,op=read}"] == 1
    assert found["edbench_call_seconds_bucket{le=0.000262144,op=read}"] == 1
    assert found["edbench_call_seconds_bucket{le=0.000524288,op=read}"] == 2
    assert found["edbench_call_seconds_bucket{le=17.179869184,op=read}"] == 3
    assert found["edbench_call_seconds_bucket{le=+Inf,op=read}"] == 4
    assert found["edbench_call_seconds_count{op=read}"] == 4
    assert found["edbench_call_seconds_sum{op=read}"] == pytest.approx((301_000 + 2_000_000_000 + (1 << 50)) / 1e9)


@pytest.mark.parametrize("ns", [0, 1, 4095, 4096, 4097, 8192, 8193, 300_000, (1 << 34) - 1, 1 << 34, (1 << 34) + 1])
def test_a_duration_is_in_the_first_bucket_that_is_not_below_it(ns: int) -> None:
    wanted = next((n for n, bound in enumerate(metrics.BOUNDS_NS) if ns <= bound), len(metrics.BOUNDS_NS))
    assert metrics.bucket_of(ns) == wanted
    coarse = metrics.coarsened(Histogram({bucket_of(ns): 1}), ns)
    # A fine bucket does not hold its upper bound, so what lies on a bound of ours goes one further.
    assert coarse.index(1) in (wanted, wanted + (ns in metrics.BOUNDS_NS))
    assert coarse[-1] == ns


def _result() -> TaskResult:
    one = uuid.UUID(int=1)
    item = loose_file(one, family=one, kind=Kind.MESSAGE)
    exception = ItemException(item=one, code=ExceptionCode.CORRUPT, level=ExceptionLevel.ITEM, detail="")
    text = ItemText(item=one, state=TextState.OK, characters=1, pages=1)
    pytest.importorskip("production")
    from production.options import ProducedFile
    from production.rows import ProducedFindings

    native = ProducedFile(
        number=1, kind=FileKind.NATIVE, path="VOL001/NATIVES/0001/A1.txt", size=5, sha256=b"", md5=b""
    )
    return TaskResult(
        items=(item, item),
        exceptions=(exception,),
        texts=(text,),
        own=ProducedFindings(files=(native,)),
        raw_bytes=7,
        extracted_bytes=5,
        index_bytes=3,
    )


class _Clock:
    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns


def test_a_tally_counts_what_was_committed_and_how_long_it_took() -> None:
    clock = _Clock()
    memory = [memoryview(bytearray(tally_bytes(1))) for _ in range(2)]
    slots = [CallCounters(each, clock) for each in memory]
    shown = TallyMetrics([CallCounters(each, clock) for each in memory], ["db1"])
    slots[0].begin(Phase.EXPAND)
    slots[1].begin(Phase.EXPAND)
    clock.ns += 2_000_000_000
    assert samples(shown)["edbench_slot_busy_seconds_total{phase=expand}"] == 4.0
    slots[0].end(Phase.EXPAND, Outcome.DONE, _result())
    slots[1].end(Phase.EXPAND, Outcome.LOST)
    slots[0].transaction_timer(0)(3_000_000)
    clock.ns += 5_000_000_000
    found = samples(shown)
    assert found["edbench_slot_busy_seconds_total{phase=expand}"] == 4.0
    assert found["edbench_tasks_total{outcome=done,phase=expand}"] == 1
    assert found["edbench_tasks_total{outcome=lost,phase=expand}"] == 1
    assert found["edbench_items_total{kind=message}"] == 2
    assert found["edbench_items_total{kind=attachment}"] == 0
    assert found["edbench_texts_total{state=ok}"] == 1
    assert found["edbench_produced_files_total{kind=native}"] == 1
    assert found["edbench_exceptions_total{code=corrupt}"] == 1
    volumes = ("raw", "extracted", "produced", "index")
    assert [found[f"edbench_{each}_bytes_total{{}}"] for each in volumes] == [7, 5, 0, 3]
    slots[1].end(Phase.EXPORT, Outcome.DONE, _result())  # what an export wrote is not discovered
    slots[1].end(Phase.FINALISE, Outcome.DONE, _result())
    assert [samples(shown)[f"edbench_{each}_bytes_total{{}}"] for each in volumes[1:3]] == [5, 10]
    assert found["edbench_slots{}"] == 2
    assert found["edbench_database_transaction_seconds_bucket{database=db1,le=0.002097152}"] == 0
    assert found["edbench_database_transaction_seconds_bucket{database=db1,le=0.004194304}"] == 1
    assert found["edbench_database_transaction_seconds_sum{database=db1}"] == pytest.approx(0.003)


def test_a_task_that_died_with_its_slot_is_counted_once() -> None:
    clock = _Clock()
    memory = memoryview(bytearray(tally_bytes(0)))
    CallCounters(memory, clock).begin(Phase.INDEX)
    clock.ns += 1_000_000_000
    supervisor = CallCounters(memory, clock)
    supervisor.slot_died()
    clock.ns += 1_000_000_000
    supervisor.slot_died()
    found = samples(TallyMetrics([supervisor], []))
    assert found["edbench_tasks_total{outcome=died,phase=index}"] == 1
    assert found["edbench_slot_busy_seconds_total{phase=index}"] == 1.0


def test_observations_become_metrics_without_paths() -> None:
    """Host and device instead of an export or mount point; what a kernel does not tell is left out; no sample twice."""
    counts = {"ops": 4, "transmissions": 5, "timeouts": 1, "bytes_sent": 10, "bytes_received": 20}
    counts |= {"queue_ms": 1, "rtt_ms": 2000, "execute_ms": 3, "errors": None}  # type: ignore[dict-item]
    wire = {"ops": {"READ": counts}, "read_bytes": 100, "write_bytes": 0, "backlog": 0}
    observed = ObservedMetrics()
    observed.take(
        [
            Observation(WORKER, "w1", {"cpu_s": 1.5, "run_queue_s": 0.25, "rss_bytes": 1000, "processors": 2}),
            Observation(WIRE, "ab12cd34:filer:/export/with space:0:52", wire),
            Observation(WIRE, "ab12cd34:other:/x:?", wire),
            Observation(WIRE, "ab12cd34:another:/y:?", wire),
            Observation(BLOCK, "ab12cd34:nvme0n1", {"reads": 3, "busy_ms": 1500}),
            Observation(SPACE, "ab12cd34:/dev/vda1:254:1", {"bytes": 10, "bytes_free": 5}),
        ]
    )
    found = samples(observed)
    assert found["edbench_worker_cpu_seconds_total{}"] == 1.5
    assert found["edbench_wire_ops_total{device=0:52,host=ab12cd34,op=READ}"] == 4
    assert found["edbench_wire_rtt_seconds_total{device=0:52,host=ab12cd34,op=READ}"] == 2.0
    assert found["edbench_wire_read_bytes_total{device=?,host=ab12cd34}"] == 100
    assert found["edbench_block_busy_seconds_total{device=nvme0n1,host=ab12cd34}"] == 1.5
    assert found["edbench_space_free_bytes{device=254:1,host=ab12cd34}"] == 5
    assert not [name for name in found if "errors" in name or "/" in name]
    observed.take([])
    assert not [name for name in samples(observed) if "wire" in name]


def test_names_follow_the_conventions() -> None:
    for spec in SPECS.values():
        assert (spec.type == "counter") == spec.name.endswith("_total"), spec
        if spec.unit in ("seconds", "bytes"):
            assert f"_{spec.unit}" in spec.name, spec
        known = (
            "op",
            "phase",
            "outcome",
            "kind",
            "type",
            "state",
            "code",
            "database",
            "host",
            "device",
            "version",
            "python",
        )
        assert set(spec.labels) <= set(known), spec


def test_the_endpoint_serves_and_a_busy_port_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """`/metrics` answers over HTTP; a port in use is a usage error, or a line in the log; 0 is off."""
    calls = CallMetrics()
    Endpoint().serve([calls])()
    with socket.socket() as held:  # bound until the end, without listening: nobody else is given this port
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        endpoint = Endpoint(held.getsockname()[1])
        stop = endpoint.serve([calls])
        try:
            calls.add([delta([5_000])])
            with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics", timeout=60) as reply:
                text = reply.read()
            assert b'edbench_calls_total{op="read"} 1.0' in text
            assert b"edbench_build_info{" in text
            with pytest.raises(UsageError, match="choose another EDBENCH_METRICS_PORT"):
                endpoint.serve([])
            endpoint.serve_or_log([])()
            assert "choose another EDBENCH_METRICS_PORT" in caplog.text
        finally:
            stop()


def test_the_endpoint_comes_from_the_environment() -> None:
    assert read_endpoint({}) == read_endpoint({"EDBENCH_METRICS_PORT": ""}) == Endpoint(0)
    found = read_endpoint({"EDBENCH_METRICS_PORT": "9464", "EDBENCH_METRICS_ADDRESS": "0.0.0.0"})
    assert found == Endpoint(9464, "0.0.0.0")
    assert read_endpoint(found.environment(2)) == Endpoint(9466, "0.0.0.0")
    assert Endpoint(0).environment(2) == {}
    for text in ("nan", "-1", "70000", "9464.5"):
        with pytest.raises(UsageError, match="EDBENCH_METRICS_PORT"):
            read_endpoint({"EDBENCH_METRICS_PORT": text})
