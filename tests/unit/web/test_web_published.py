"""Addresses of a system in containers, and when links are printed for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import UsageError
from web.token import GRAFANA, WEB, headless_line, published, start_lines

CODE = "a-code"


@pytest.mark.parametrize(
    ("text", "url", "loopback"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
        ("127.1.2.3:80", "http://127.1.2.3:80/", True),
        ("[::1]:8080", "http://[::1]:8080/", True),
        ("localhost:8081", "http://localhost:8081/", True),
        ("127.0.0.1:", "http://$(docker compose port controller 8080)/", True),
        ("0.0.0.0:8080", "http://SERVER:8080/", False),
        ("[::]:8080", "http://SERVER:8080/", False),
        ("10.0.0.5:8080", "http://10.0.0.5:8080/", False),
        ("localhost.example.org:8080", "http://localhost.example.org:8080/", False),
        ("127.0.0.1.example.org:8080", "http://127.0.0.1.example.org:8080/", False),
    ],
)
def test_a_link_is_printed_for_a_port_on_loopback_alone(text: str, url: str, loopback: bool, tmp_path: Path) -> None:
    """Elsewhere it would cross the network as plain text: there the lines have no code, and the command that asks for one is refused."""
    web = published({WEB: text}, WEB)
    assert web is not None
    assert (web.url, web.loopback) == (url, loopback)
    lines = "\n".join(start_lines(web, None, CODE, tmp_path))
    assert (CODE in lines) is loopback
    if loopback:
        web.refuse_link()
        assert web.sign_in(CODE) == f"{url}login#code={CODE}"
    else:
        with pytest.raises(UsageError, match="token --api"):
            web.refuse_link()


def test_the_controller_prints_four_lines(tmp_path: Path) -> None:
    env = {WEB: "127.0.0.1:8080", GRAFANA: "127.0.0.1:3000"}
    web, grafana = published(env, WEB), published(env, GRAFANA)
    assert web is not None
    link, another, dashboards, storage = start_lines(web, grafana, CODE, tmp_path)
    assert link.endswith("http://127.0.0.1:8080/login#code=a-code")
    assert "docker compose exec controller edbench token" in another
    assert "ssh -L 8080:127.0.0.1:8080 -L 3000:127.0.0.1:3000 SERVER" in another
    assert "http://127.0.0.1:3000/" in dashboards
    assert "token --grafana" in dashboards
    assert str(tmp_path) in storage
    assert "GB free, writable as user" in storage
    assert headless_line(published({WEB: "127.0.0.1:"}, WEB)) == ""


@pytest.mark.parametrize("text", ["8080", ":8080", "127.0.0.1:http", "127.0.0.1:٣"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=WEB):
        published({WEB: text}, WEB)


def test_none_is_set_outside_of_containers() -> None:
    assert published({}, WEB) is None
