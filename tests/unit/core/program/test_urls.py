"""URLs are repeated without the logins in them."""

from __future__ import annotations

import pytest

from core.program.urls import shown_url, without_logins


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://10.0.0.1:6390/0", "redis://10.0.0.1:6390/0"),
        ("redis://u:p@h:6390", "redis://…@h:6390"),
        ("redis://:p@h:6390", "redis://…@h:6390"),
        ("redis://u:p@ss w/rd@h:6390", "redis://…@h:6390"),
        ("redis:/u:p@h:6390", "…@h:6390"),
        ("db1=postgresql+psycopg2://u:p@h/db?sslmode=require", "db1=postgresql+psycopg2://…@h/db?sslmode=require"),
        ("postgresql://h/db?password=p&user=u", "postgresql://h/db?password=…&user=u"),
        ("https://token@host/repository.git", "https://…@host/repository.git"),
        ("no URL at all", "no URL at all"),
    ],
)
def test_a_url_is_shown_without_its_login(url: str, shown: str) -> None:
    """Also one that is none: what was meant as a password stands before the last @."""
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cannot clone 'https://u:p@h/x.git' into y", "cannot clone 'https://…@h/x.git' into y"),
        ("'redis://u:p/w@h:1' and amqp://:q@k", "'redis://…@h:1' and amqp://…@k"),
        ("mail a@b.c, see http://h/about", "mail a@b.c, see http://h/about"),
        ("s3://bucket/a@b stays", "s3://bucket/a@b stays"),
    ],
)
def test_a_message_is_said_without_the_logins_of_its_urls(text: str, said: str) -> None:
    """And whatever else has an @ in it stays as it is."""
    assert without_logins(text) == said
