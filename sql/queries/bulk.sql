-- Many rows in one statement: the rows travel as one JSON array, which Python writes and PostgreSQL reads faster
-- than VALUES lists of adapted parameters.

-- name: insert_items
-- Items, written once whatever the number of attempts.
INSERT INTO item (id, job, parent, family_id, custodian, ordinal, depth, name, display, container_path, kind,
    container, media_type, bytes, sha256, content_hash, message_id_hash, location, path, mtime_ns)
SELECT id, %(job)s, parent, family_id, custodian, decode(ordinal, 'hex'), depth, decode(name, 'hex'), display,
    container_path, kind, container, media_type, bytes, decode(sha256, 'hex'), decode(content_hash, 'hex'),
    decode(message_id_hash, 'hex'), decode(location, 'hex'), decode(path, 'hex'), mtime_ns
FROM json_to_recordset(%(rows)s::json) AS r (id uuid, parent uuid, family_id uuid, custodian int, ordinal text,
    depth smallint, name text, display text, container_path text[], kind text, container boolean, media_type text,
    bytes bigint, sha256 text, content_hash text, message_id_hash text, location text, path text, mtime_ns bigint)
ON CONFLICT (id) DO NOTHING;

-- name: insert_exceptions
-- Exceptions found under one claim.
INSERT INTO exception (job, item, code, level, phase, detail, missing, task, token)
SELECT %(job)s, item, code, level, %(phase)s, detail, missing, %(task)s, %(token)s
FROM json_to_recordset(%(rows)s::json) AS r (item uuid, code text, level text, detail text, missing bigint);

-- name: add_containers
-- Counts of several ranges of a container add up; what it announces is known to whoever read its directory.
INSERT INTO container_count (item, job, announced, emitted, failed, remainder_unknown)
SELECT item, %(job)s, announced, emitted, failed, remainder_unknown
FROM json_to_recordset(%(rows)s::json)
    AS r (item uuid, announced bigint, emitted bigint, failed bigint, remainder_unknown boolean)
ORDER BY item
ON CONFLICT (item) DO UPDATE SET
    announced = greatest(container_count.announced, excluded.announced),
    emitted = container_count.emitted + excluded.emitted,
    failed = container_count.failed + excluded.failed,
    remainder_unknown = container_count.remainder_unknown OR excluded.remainder_unknown;

-- name: put_texts
-- What became of the text of each item; the latest attempt to finish is right.
INSERT INTO item_text (item, job, state, characters, pages, metadata)
SELECT item, %(job)s, state, characters, pages, metadata
FROM json_to_recordset(%(rows)s::json) AS r (item uuid, state text, characters bigint, pages int, metadata jsonb)
ORDER BY item
ON CONFLICT (item) DO UPDATE SET state = excluded.state, characters = excluded.characters, pages = excluded.pages,
    metadata = excluded.metadata;

-- name: put_owners
-- Which shard holds the only valid index document of each item, and what that document carries as its owner.
INSERT INTO item_index (item, job, shard, owner)
SELECT item, %(job)s, shard, %(owner)s
FROM json_to_recordset(%(rows)s::json) AS r (item uuid, shard uuid)
ORDER BY item
ON CONFLICT (item) DO UPDATE SET shard = excluded.shard, owner = excluded.owner;

-- name: put_shard
-- A shard with the documents its owner has published so far, and the bytes of their files.
INSERT INTO shard (id, job, engine, location, documents, bytes)
VALUES (%(shard)s, %(job)s, %(engine)s, %(location)s, %(documents)s, %(size)s)
ON CONFLICT (id) DO UPDATE SET documents = greatest(shard.documents, excluded.documents),
    bytes = greatest(shard.bytes, excluded.bytes);

-- name: insert_tasks
-- New tasks, pending or held, with the task and the claim that made them, if one did.
INSERT INTO task (job, phase, state, weight, payload, origin, origin_token)
SELECT %(job)s, phase, %(state)s, weight, payload, %(origin)s, %(origin_token)s
FROM json_to_recordset(%(rows)s::json) AS r (phase text, weight bigint, payload jsonb);

-- name: insert_custodians
-- The custodians of a new job.
INSERT INTO custodian (job, number, name, display)
SELECT %(job)s, number, decode(name, 'hex'), display
FROM json_to_recordset(%(rows)s::json) AS r (number int, name text, display text);
