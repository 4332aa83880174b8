"""Shares of the window among databases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_manager.dispatcher import Commons, fair_share

_WANTS = st.dictionaries(st.sampled_from(["db1", "db2", "db3", "db4"]), st.integers(0, 50), max_size=4)


@given(_WANTS, st.integers(0, 64))
def test_shares_are_fair_and_nothing_is_wasted(wants: dict[str, int], window: int) -> None:
    """Promise: nobody gets more than it wants or waits for nothing, the window is used up while anybody wants more,
    and nobody is given less than another unless it wants less."""
    shares = {name: fair_share(name, wants, window) for name in wants}
    busy = [name for name, want in wants.items() if want]
    assert all(shares[name] <= wants[name] for name in wants)
    if window == 0:
        assert not any(shares.values())
        return
    assert all(shares[name] >= 1 for name in busy)
    assert sum(shares.values()) <= max(window, len(busy))
    if sum(wants.values()) >= window:
        assert sum(shares.values()) >= window
    hungry = [name for name in busy if shares[name] < wants[name]]
    for name in hungry:
        assert shares[name] + 1 >= max(shares.values())


def test_a_database_without_work_takes_nothing_from_the_others() -> None:
    """Promise: alone with work, a database has the whole window; once another has some, half."""
    commons = Commons()
    assert commons.share("db1", 100, 16) == 16
    assert commons.share("db2", 0, 16) == 0
    assert commons.share("db1", 100, 16) == 16
    assert commons.share("db2", 100, 16) == 8
    assert commons.share("db1", 100, 16) == 8
    assert commons.share("db2", 2, 16) == 2
    assert commons.share("db1", 100, 16) == 14
    commons.forget("db2")
    assert commons.share("db1", 100, 16) == 16
