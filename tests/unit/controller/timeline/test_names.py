"""controller.timeline.model: what people read in the titles and keys of charts."""

from __future__ import annotations

from controller.timeline.model import device_names, host_names, worker_names


def test_a_device_of_the_only_host_has_its_own_name_alone() -> None:
    sources = ["b6d6a1e6:vda", "b6d6a1e6:/dev/vda:254:0", "b6d6a1e6:10.0.0.7:/export:0:52"]
    assert list(device_names(sources, {}).values()) == ["vda", "/dev/vda", "10.0.0.7:/export"]


def test_devices_of_several_hosts_name_their_host() -> None:
    """By its host name where a worker reported it, else by the source."""
    found = device_names(["aaaaaaaa:sda", "bbbbbbbb:sda"], {"aaaaaaaa": "rack1"})
    assert list(found.values()) == ["sda on rack1", "sda on bbbbbbbb"]


def test_two_devices_never_share_a_name() -> None:
    found = device_names(["b:tmpfs:0:51", "b:tmpfs:0:52"], {})
    assert list(found.values()) == ["tmpfs:0:51", "tmpfs:0:52"]


def test_workers_are_numbered_where_their_names_are_random() -> None:
    names = ["3f2a1b9c0d1e-1", "4a2a1b9c0d1e-1", "rack1-w2", "w12"]
    assert list(worker_names(names).values()) == ["worker 1 (3f2a1b)", "worker 2 (4a2a1b)", "rack1-w2", "worker 12"]


def test_host_names_come_from_the_workers() -> None:
    workers = {"w1": [(1, {"host": "b", "host_name": "rack1"})], "w2": [(1, {"host": "c"})]}
    assert host_names(workers) == {"b": "rack1"}
