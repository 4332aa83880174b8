-- Counters that an array's own monitoring gave, imported for a job (controller.arrays).

-- name: job_time
-- From the first claim to the end, or to now, as epoch seconds of the database's clock; null before the first claim.
SELECT extract(epoch FROM first_claim_at)::float8 AS start,
    extract(epoch FROM coalesce(finished_at, stopped_at, clock_timestamp()))::float8 AS finish
FROM job WHERE id = %(job)s;

-- name: drop_array
-- What was imported under this name before; the name is what stands before the first separator of a source.
DELETE FROM observation
WHERE job = %(job)s AND kind = 'array' AND split_part(source, %(separator)s, 1) = %(name)s;

-- name: put_array
-- Values by source and second.
INSERT INTO observation (second, kind, source, job, "values")
SELECT f.second, 'array', f.source, %(job)s, f."values"::jsonb
FROM unnest(%(second)s::bigint[], %(source)s::text[], %(values)s::text[]) AS f (second, source, "values");

-- name: array_readings
-- What was imported for a job, of these seconds, by source and time.
SELECT source, second, "values" FROM observation
WHERE job = %(job)s AND kind = 'array' AND second BETWEEN %(low)s AND %(high)s ORDER BY source, second;
