-- De-duplication: sets of items in temporary tables, gone with the transaction. Each database of several works out what
-- its own items are (dedupe_items or dedupe_families, dedupe_places) and one of them, to which rows are carried between
-- these, who is equal to whom (dedupe_groups, dedupe_outcome).

-- name: dedupe_tables
-- of_job: the jobs in this database, with the scope's number and their place in the order. compared: what can be compared.
-- in_group: what has equals. placed: the same with all that the choice of an original needs. outcome: what comes of it.
CREATE TEMP TABLE of_job (job uuid PRIMARY KEY, unit bigint NOT NULL, place bigint NOT NULL) ON COMMIT DROP;
CREATE TEMP TABLE compared (
    item uuid NOT NULL, place bigint NOT NULL, scope bigint NOT NULL, key bytea NOT NULL, message_id_hash bytea
) ON COMMIT DROP;
CREATE TEMP TABLE in_group (LIKE compared) ON COMMIT DROP;
CREATE TEMP TABLE placed (
    item uuid NOT NULL, job uuid NOT NULL, place bigint NOT NULL, scope bigint NOT NULL, key bytea NOT NULL,
    message_id_hash bytea, name bytea NOT NULL, custodian text NOT NULL, path text[] NOT NULL, ordinal bytea NOT NULL,
    chain bytea[]
) ON COMMIT DROP;
CREATE TEMP TABLE outcome (
    item uuid NOT NULL, place bigint NOT NULL, original uuid NOT NULL, original_job uuid NOT NULL, copy boolean NOT NULL,
    custodians text[], copies bigint
) ON COMMIT DROP;

-- name: dedupe_memory
-- For sorts and hashes of this transaction alone: a million items are a few hundred megabytes.
SET LOCAL work_mem = '192MB';

-- name: dedupe_jobs
-- The jobs of this database.
INSERT INTO of_job SELECT * FROM unnest(%(jobs)s::uuid[], %(units)s::bigint[], %(places)s::bigint[]);
ANALYZE of_job;

-- name: dedupe_unsure
-- Messages of whose fields something may be missing: an exception was recorded, or the text was cut. They are compared by
-- their bytes.
CREATE TEMP TABLE unsure ON COMMIT DROP AS
SELECT e.item FROM exception e JOIN of_job j ON j.job = e.job
UNION
SELECT t.item FROM item_text t JOIN of_job j ON j.job = t.job WHERE t.state NOT IN ('ok', 'empty', 'guessed');
ANALYZE unsure;

-- name: dedupe_keys
-- Every item with its hash: a message's is over its normalised fields. `empty` is that of a message without any field,
-- which says nothing.
CREATE TEMP TABLE keyed ON COMMIT DROP AS
SELECT i.id AS item, j.place, i.family_id, i.depth, i.message_id_hash, NOT i.container AND i.bytes > 0 AS comparable,
    CASE %(scope)s WHEN 'job' THEN j.unit WHEN 'custodian' THEN (j.place << 32) + i.custodian ELSE 0 END AS scope,
    CASE WHEN i.content_hash <> %(empty)s AND x.item IS NULL THEN i.content_hash ELSE i.sha256 END AS key
FROM of_job j
JOIN item i ON i.job = j.job
LEFT JOIN unsure x ON x.item = i.id;
ANALYZE keyed;

-- name: dedupe_items
-- Items by themselves. Containers are not compared, what they hold is; nor is an item of no bytes.
INSERT INTO compared
SELECT item, place, scope, key, message_id_hash FROM keyed WHERE comparable AND key IS NOT NULL;
ANALYZE compared;

-- name: dedupe_families
-- Families, by their topmost items. The family hash is the sha256 of the topmost item's hash and those of all others,
-- each with its depth below it, in order of depth and hash: the same whatever the order of attachments. A family with an
-- item that has no hash is not compared.
INSERT INTO compared
SELECT f.item, f.place, f.scope, sha256(f.key || coalesce(m.keys, '')), f.message_id_hash
FROM keyed f
LEFT JOIN (
    SELECT k.family_id, bool_or(k.key IS NULL) AS unknown,
        string_agg(int2send((k.depth - r.depth)::smallint) || k.key, '' ORDER BY k.depth, k.key) AS keys
    FROM keyed k JOIN keyed r ON r.item = k.family_id
    WHERE k.family_id <> k.item
    GROUP BY k.family_id
) m ON m.family_id = f.item
WHERE f.family_id = f.item AND f.comparable AND f.key IS NOT NULL AND m.unknown IS NOT TRUE;
ANALYZE compared;

-- name: dedupe_groups
-- What has equals within its scope.
INSERT INTO in_group
SELECT item, place, scope, key, message_id_hash
FROM (SELECT *, count(*) OVER (PARTITION BY scope, key) AS members FROM compared) c WHERE members > 1;
ANALYZE in_group;

-- name: dedupe_places
-- Where each of these lies. Siblings may have one path, as messages of a store and what is attached to them: equal items
-- that have are told apart by the ordinals of all that they lie in, outermost first. Ids would not do: they are random
-- from job to job.
WITH RECURSIVE mine AS (
    SELECT g.*, i.job, i.parent, i.custodian AS number, i.container_path, i.ordinal
    FROM in_group g JOIN of_job j ON j.place = g.place JOIN item i ON i.id = g.item
), up (item, parent, chain) AS (
    SELECT m.item, m.parent, ARRAY[int4send(length(m.ordinal)) || m.ordinal]
    FROM mine m JOIN (
        SELECT scope, key, container_path, ordinal FROM mine
        WHERE parent IS NOT NULL GROUP BY 1, 2, 3, 4 HAVING count(*) > 1
    ) t USING (scope, key, container_path, ordinal)
    UNION ALL
    SELECT up.item, p.parent, (int4send(length(p.ordinal)) || p.ordinal) || up.chain
    FROM up JOIN item p ON p.id = up.parent
)
INSERT INTO placed
SELECT m.item, m.job, m.place, m.scope, m.key, m.message_id_hash, u.name, u.display, m.container_path,
    int4send(length(m.ordinal)) || m.ordinal, up.chain
FROM mine m
JOIN custodian u ON u.job = m.job AND u.number = m.number
LEFT JOIN up ON up.item = m.item AND up.parent IS NULL;
ANALYZE placed;

-- name: dedupe_outcome
-- The original of each group is the first by job, custodian, path and place among siblings; its row has who else has it.
INSERT INTO outcome
SELECT item, place, first_value(item) OVER own, first_value(job) OVER own, row_number() OVER own > 1,
    CASE WHEN row_number() OVER own = 1 THEN names END,
    CASE WHEN row_number() OVER own = 1 THEN members - 1 END
FROM placed
JOIN (
    SELECT scope, key, array_agg(DISTINCT custodian COLLATE "C" ORDER BY custodian COLLATE "C") AS names,
        count(*) AS members
    FROM placed GROUP BY scope, key
) g USING (scope, key)
WINDOW own AS (PARTITION BY scope, key
    ORDER BY place, name, path COLLATE "C", ordinal, chain, item);
ANALYZE outcome;

-- name: dedupe_digest
-- What was decided over all databases, as one hash: the same rows have the same. In parts, so that no value is large.
SELECT sha256(coalesce(string_agg(part, '' ORDER BY begins), '')) AS digest
FROM (
    SELECT substr(uuid_send(item), 1, 1) AS begins, sha256(string_agg(
        uuid_send(item) || uuid_send(original) || boolsend(copy) || coalesce(sha256(array_send(custodians)), ''),
        '' ORDER BY item)) AS part
    FROM outcome GROUP BY begins
) AS p;

-- name: dedupe_clear
-- What an earlier run said of these jobs.
DELETE FROM duplicate WHERE job IN (SELECT job FROM of_job);

-- name: dedupe_store_items
-- What came of it for this database's items.
INSERT INTO duplicate (job, item, original, original_job, copy, custodians, copies)
SELECT j.job, o.item, o.original, o.original_job, o.copy, o.custodians, o.copies FROM outcome o JOIN of_job j USING (place);

-- name: dedupe_store_families
-- The same for every member of each family.
INSERT INTO duplicate (job, item, original, original_job, copy, custodians, copies)
SELECT j.job, k.item, o.original, o.original_job, o.copy, CASE WHEN k.item = o.item THEN o.custodians END,
    CASE WHEN k.item = o.item THEN o.copies END
FROM outcome o JOIN of_job j USING (place) JOIN keyed k ON k.family_id = o.item;

-- name: dedupe_counts
-- Of the items of this database: all, containers, and the duplicates among them.
SELECT
    (SELECT count(*) FROM keyed) AS items,
    (SELECT count(*) FROM item i JOIN of_job USING (job) WHERE i.container) AS containers,
    count(*) AS duplicates, coalesce(sum(i.bytes), 0)::bigint AS duplicate_bytes
FROM duplicate d JOIN of_job USING (job) JOIN item i ON i.id = d.item WHERE d.copy;

-- name: dedupe_group_counts
-- What was compared, the groups of equals, and how hashes and Message-ID hashes agree: groups with several Message-ID
-- hashes, and Message-ID hashes whose messages are not all equal.
SELECT
    (SELECT count(*) FROM compared) AS compared,
    (SELECT count(*) FROM outcome WHERE NOT copy) AS groups,
    (SELECT count(*) FROM outcome WHERE copy) AS copies,
    (SELECT count(*) FROM (
        SELECT 1 FROM in_group WHERE message_id_hash IS NOT NULL GROUP BY scope, key
        HAVING count(DISTINCT message_id_hash) > 1) g) AS several_ids,
    (SELECT count(*) FROM (
        SELECT 1 FROM compared WHERE message_id_hash IS NOT NULL GROUP BY scope, message_id_hash
        HAVING count(DISTINCT key) > 1) h) AS several_hashes;
