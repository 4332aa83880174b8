"""fio, the system's program, as the maker of load: job files, a run of it, and what its JSON says."""
