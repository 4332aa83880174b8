-- What reviews store, and lists of it.

-- name: put_review
-- The latest finding of one kind, noted with a job that was looked at.
INSERT INTO review (job, kind, token, options, figures)
SELECT job, %(kind)s, %(token)s, %(options)s::jsonb, %(figures)s::jsonb FROM unnest(%(jobs)s::uuid[]) AS j (job)
ON CONFLICT (job, kind) DO UPDATE SET token = excluded.token, options = excluded.options, figures = excluded.figures,
    created_at = excluded.created_at;

-- name: lock_reviewed
-- Keeps two findings of one kind in these jobs apart, and the jobs from being deleted meanwhile; those that are there.
SELECT id FROM job WHERE id = ANY(%(jobs)s::uuid[]) ORDER BY id FOR UPDATE;

-- name: duplicates
-- The groups of equals that a job has part in, original first; of families the topmost items. An original in another
-- database has no path here.
SELECT d.item, d.original, d.original_job, d.copy AS duplicate, u.display AS custodian, i.container_path, i.kind,
    i.media_type, i.bytes, i.sha256, i.content_hash AS message_hash, i.message_id_hash,
    o.container_path AS original_path, d.custodians, d.copies AS duplicates
FROM duplicate d
JOIN item i ON i.id = d.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item o ON o.id = d.original
WHERE d.job = %(job)s AND (NOT %(families)s OR i.family_id = i.id)
ORDER BY o.container_path COLLATE "C", length(o.ordinal), o.ordinal, d.original, d.copy, u.name,
    i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.id;

-- name: near_items
-- The items of a job that may be compared by their texts, in path order; equal places in that of their bytes.
SELECT uuid_send(i.id) AS item, i.custodian
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE i.job = %(job)s AND NOT i.container
ORDER BY u.name, i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.sha256, i.id;

-- name: clear_near
-- What an earlier run said of a job.
DELETE FROM near_duplicate WHERE job = %(job)s;

-- name: put_near
-- Some members of groups.
INSERT INTO near_duplicate (job, item, principal, principal_job, similarity, members)
SELECT %(job)s, item, principal, principal_job, similarity, members
FROM unnest(%(items)s::uuid[], %(principals)s::uuid[], %(principal_jobs)s::uuid[], %(similarities)s::float8[],
    %(members)s::bigint[]) AS n (item, principal, principal_job, similarity, members);

-- name: near_bytes
-- Bytes of the items of a job that are nearly the same as their principals.
SELECT coalesce(sum(i.bytes), 0)::bigint AS bytes
FROM near_duplicate n JOIN item i ON i.id = n.item WHERE n.job = %(job)s AND n.item <> n.principal;

-- name: near_duplicates
-- The groups that a job has part in, principal first, then the more alike. A principal in another database has no path here.
SELECT n.item, n.principal, n.principal_job, n.item <> n.principal AS near, n.similarity, u.display AS custodian,
    i.container_path, i.kind, i.media_type, i.bytes, p.container_path AS principal_path, n.members
FROM near_duplicate n
JOIN item i ON i.id = n.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item p ON p.id = n.principal
WHERE n.job = %(job)s
ORDER BY p.container_path COLLATE "C", length(p.ordinal), p.ordinal, n.principal, near, n.similarity DESC, u.name,
    i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.id;

-- name: put_languages
-- The languages of some items, with what their metadata says; an item whose text was taken anew since has none.
UPDATE item_text t SET metadata = t.metadata || jsonb_build_object('language', l.language)
FROM unnest(%(items)s::uuid[], %(languages)s::text[]) AS l (item, language)
WHERE t.job = %(job)s AND t.item = l.item AND t.metadata ->> 'language' IS DISTINCT FROM l.language;

-- name: clear_system_files
-- What an earlier run said of a job.
DELETE FROM system_file WHERE job = %(job)s;

-- name: count_system_files
-- Flagged items by list, with all items of the job.
SELECT s.list AS number, count(*) AS items, coalesce(sum(i.bytes), 0)::bigint AS bytes
FROM system_file s JOIN item i ON i.id = s.item WHERE s.job = %(job)s GROUP BY s.list ORDER BY s.list;

-- name: count_hashed
-- Items of a job, and those without a hash; with `digests` those too whose MD5 and SHA-1 are not known.
SELECT count(*) AS items,
    count(*) FILTER (WHERE i.sha256 IS NULL OR %(digests)s AND NOT EXISTS (
        SELECT 1 FROM item_digest d WHERE d.item = i.id AND d.sha256 = i.sha256)) AS unknown
FROM item i WHERE i.job = %(job)s;

-- name: system_files
-- The flagged items of a job in path order; `names` of the lists by their numbers.
SELECT i.id AS item, u.display AS custodian, i.container_path, i.media_type, i.bytes, i.sha256,
    (%(names)s::text[])[s.list + 1] AS list
FROM system_file s
JOIN item i ON i.id = s.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
WHERE s.job = %(job)s ORDER BY i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.id;

-- name: thread_messages
-- What the messages of a job say of their places, in path order; of one without any field (`empty`) the bytes do.
SELECT i.id, i.custodian, encode(CASE WHEN i.content_hash = %(empty)s THEN coalesce(i.sha256, uuid_send(i.id))
    ELSE i.content_hash END, 'hex') AS content, t.metadata ->> 'message_id' AS message_id,
    t.metadata ->> 'in_reply_to' AS in_reply_to, t.metadata ->> 'conversation' AS conversation,
    t.metadata ->> 'subject' AS subject, t.metadata ->> 'date' AS sent,
    ARRAY(SELECT jsonb_array_elements_text(t.metadata -> 'reference_ids')) AS reference_ids
FROM item i
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = i.id
WHERE i.job = %(job)s AND i.content_hash IS NOT NULL
ORDER BY u.name, i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.content_hash, i.id;

-- name: clear_threads
-- What an earlier run said of a job.
DELETE FROM thread_message WHERE job = %(job)s;

-- name: put_threads
-- The places of some messages.
INSERT INTO thread_message (job, item, thread, parent, depth, by, sent_at)
SELECT %(job)s, item, thread, parent, depth, by, sent
FROM unnest(%(items)s::uuid[], %(threads)s::uuid[], %(parents)s::uuid[], %(depths)s::int[], %(by)s::text[],
    %(sent)s::timestamptz[])
    AS m (item, thread, parent, depth, by, sent);

-- name: threads
-- The messages of a job by thread: its earliest first, then by date.
SELECT m.thread, m.item, m.parent, m.depth, m.by, to_char(m.sent_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS sent_at,
    t.metadata ->> 'date_original' AS date_original, u.display AS custodian, i.container_path,
    t.metadata ->> 'subject' AS subject, t.metadata ->> 'message_id' AS message_id
FROM thread_message m
JOIN item i ON i.id = m.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = m.item
WHERE m.job = %(job)s
ORDER BY min(m.sent_at) OVER (PARTITION BY m.thread), m.thread, m.sent_at, m.depth, u.name,
    i.container_path COLLATE "C", length(i.ordinal), i.ordinal, i.id;

-- name: without_digest
-- The next items whose MD5 and SHA-1 are not known, in order of their ids.
SELECT i.id, i.path, i.location, i.bytes, i.sha256
FROM item i LEFT JOIN item_digest d ON d.item = i.id AND d.sha256 = i.sha256
WHERE i.job = %(job)s AND i.sha256 IS NOT NULL AND i.id > %(after)s AND d.item IS NULL
ORDER BY i.id LIMIT %(limit)s;

-- name: put_digests
-- MD5 and SHA-1 of some items.
INSERT INTO item_digest (job, item, sha256, md5, sha1)
SELECT %(job)s, * FROM unnest(%(items)s::uuid[], %(sha256)s::bytea[], %(md5)s::bytea[], %(sha1)s::bytea[])
ON CONFLICT (item) DO UPDATE SET sha256 = excluded.sha256, md5 = excluded.md5, sha1 = excluded.sha1;
