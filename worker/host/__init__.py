"""Reports of a worker: its registration, its leases, its observations."""
