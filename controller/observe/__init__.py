"""What is observed alongside the jobs: metrics, wire counters, places, traces."""
