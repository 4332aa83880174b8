-- Numbers for Prometheus.

-- name: jobs_by_state
-- How many jobs are in each state.
SELECT state, count(*)::int AS jobs FROM job GROUP BY state;
