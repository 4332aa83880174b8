"""What a worker tells the others: who it is, its leases, its observations."""
