"""What a worker reports: who it is, its leases, its observations."""
