"""Clients that use one storage at the same time: whole files or objects written, read and removed, each call recorded.

`crowd.py` starts them and hears them, `process.py` is a process with some of them in threads, `paths.py` and `objects.py` are
the two kinds of storage, `tally.py` takes what they do. Nothing here is one profile's.
"""
