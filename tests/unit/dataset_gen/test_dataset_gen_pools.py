"""The pools that generating processes share."""

from __future__ import annotations

import signal

from dataset_gen.formats.images import jpeg, svg, tiff
from dataset_gen.formats.office import odf
from dataset_gen.formats.text import plain
from dataset_gen.material.text import LANGUAGES, foreign, prose


def test_all_pools_are_there_once_it_is_imported() -> None:
    """Nothing is left for a process to make on its own, and Ctrl-C works as before."""
    from dataset_gen import pools  # it fills them, and whoever collects tests imports all of these files

    caches = (prose, foreign, jpeg._pool, tiff._pool, svg._pool, odf._pool, plain._source_pool, plain._log_pool)
    before = [cached.cache_info().misses for cached in caches]
    assert foreign.cache_info().currsize == len(LANGUAGES) - 1
    assert plain._source_pool.cache_info().currsize == len(plain.LANGUAGES)
    pools.fill()
    assert [cached.cache_info().misses for cached in caches] == before
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
