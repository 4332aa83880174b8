"""Each storage after another: what a module asks of one is asked of all, while it is there."""

from collections.abc import Iterator

import pytest
from real_mounts import EVERY, Real, real


@pytest.fixture(scope="module", params=EVERY)
def storage(request: pytest.FixtureRequest) -> Iterator[Real]:
    """What cannot be had is skipped with the reason."""
    with real(request.param) as there:
        yield there
