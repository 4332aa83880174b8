-- the fault campaign (tests/chaos): what a run may not leave behind.

-- name: orphans
-- Counts, texts, exceptions and owners of a job that belong to no item or no shard, and tasks of a job that is over
-- that are not done; every number has to be 0.
SELECT
    (SELECT count(*) FROM container_count c WHERE c.job = %(job)s
        AND NOT EXISTS (SELECT 1 FROM item i WHERE i.job = c.job AND i.id = c.item)) AS counts,
    (SELECT count(*) FROM item_text t WHERE t.job = %(job)s
        AND NOT EXISTS (SELECT 1 FROM item i WHERE i.job = t.job AND i.id = t.item)) AS texts,
    (SELECT count(*) FROM exception e WHERE e.job = %(job)s
        AND NOT EXISTS (SELECT 1 FROM item i WHERE i.job = e.job AND i.id = e.item)) AS exceptions,
    (SELECT count(*) FROM task t WHERE t.job = %(job)s AND t.state <> 'done') AS tasks;

-- name: excepted
-- Loose files of a job that have an exception, by their path.
SELECT DISTINCT i.container_path[1] FROM exception e JOIN item i ON i.id = e.item
WHERE e.job = %(job)s AND i.parent IS NULL;

-- name: fingerprint
-- Everything that is known of a job's items but their ids, in one value: equal for equal contents.
SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
    SELECT concat_ws('|', i.container_path::text, i.kind, i.media_type, i.bytes, encode(i.sha256, 'hex'), t.state,
        t.characters, t.pages, c.announced, c.emitted, c.failed, (
            SELECT string_agg(concat_ws(':', e.code, e.level, e.missing), ',' ORDER BY e.code, e.level, e.missing)
            FROM exception e WHERE e.item = i.id
        )) AS line
    FROM item i LEFT JOIN item_text t ON t.item = i.id LEFT JOIN container_count c ON c.item = i.id
    WHERE i.job = %(job)s
) AS lines;

-- name: clock
-- A clock that can be set, for sessions whose search path begins with this schema.
DO $$
BEGIN
    CREATE SCHEMA IF NOT EXISTS chaos;
    CREATE TABLE IF NOT EXISTS chaos.clock (off interval NOT NULL);
    IF NOT EXISTS (SELECT 1 FROM chaos.clock) THEN
        INSERT INTO chaos.clock VALUES ('0');
    END IF;
    GRANT USAGE ON SCHEMA chaos TO PUBLIC;
    GRANT SELECT ON chaos.clock TO PUBLIC;
    CREATE OR REPLACE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT pg_catalog.clock_timestamp() + off FROM chaos.clock';
    CREATE OR REPLACE FUNCTION chaos.now() RETURNS timestamptz LANGUAGE sql STABLE
        AS 'SELECT pg_catalog.now() + off FROM chaos.clock';
END
$$;

-- name: step
-- How far it is off.
UPDATE chaos.clock SET off = make_interval(secs => %(seconds)s);
