"""The sandbox of parsers: a process without secrets, without rights and without files. Start reading at `sandbox.py`."""
