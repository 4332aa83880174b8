"""What is watched beside the jobs: metrics, wire counters, places, traces."""
