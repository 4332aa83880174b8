-- Numbers for Prometheus.

-- name: jobs_by_state
-- How many jobs of each type are in each state.
SELECT type, state, count(*)::int AS jobs FROM job GROUP BY type, state;
