-- Jobs that write files out of other jobs' items.

-- name: production_tables
-- For the transaction that creates the job: what a search or a tag chose, and what is taken, by its place.
CREATE TEMP TABLE picked (item uuid PRIMARY KEY) ON COMMIT DROP;
CREATE TEMP TABLE taken (
    place bigint PRIMARY KEY, id uuid NOT NULL, family_id uuid, parent uuid, bytes bigint NOT NULL,
    characters bigint NOT NULL, shard uuid, name bytea NOT NULL, media_type text NOT NULL
) ON COMMIT DROP;

-- name: production_pick
-- Some of what was chosen.
INSERT INTO picked SELECT item FROM unnest(%(items)s::uuid[]) AS given (item) ON CONFLICT DO NOTHING;

-- name: production_forget
-- Before the next source job.
TRUNCATE picked, taken;

-- name: production_take
-- The items of a source job that are taken, in the order of their numbers: by custodian and path, a family together, its
-- topmost item first. Families are judged by that one where they are taken or left whole. Containers hold others and are
-- nothing beside them.
INSERT INTO taken
SELECT row_number() OVER (
        ORDER BY i.custodian, coalesce(top.container_path, i.container_path) COLLATE "C", coalesce(top.id, i.id),
            i.id <> coalesce(top.id, i.id), i.container_path COLLATE "C", i.id),
    i.id, i.family_id, i.parent, i.bytes, coalesce(t.characters, 0), x.shard, i.name, i.media_type
FROM item i
LEFT JOIN item top ON top.id = i.family_id
LEFT JOIN item_text t ON t.item = i.id
LEFT JOIN item_index x ON x.item = i.id
WHERE i.job = %(job)s AND NOT i.container
  AND (%(everything)s OR i.id IN (SELECT item FROM picked))
  AND NOT (%(originals)s AND EXISTS (
      SELECT 1 FROM duplicate d
      WHERE d.copy AND d.item = CASE WHEN %(families)s THEN coalesce(i.family_id, i.id) ELSE i.id END))
  AND NOT (%(not_nist)s AND EXISTS (
      SELECT 1 FROM system_file y
      WHERE y.item = CASE WHEN %(families)s THEN coalesce(i.family_id, i.id) ELSE i.id END));

-- name: production_taken
-- Some of them.
SELECT place, id, family_id, parent, bytes, characters, shard, name, media_type
FROM taken WHERE place > %(after)s ORDER BY place LIMIT %(limit)s;

-- name: production_imaged
-- The items of a processing job, with the numbers that their pages have.
SELECT p.number, p.item, p.source_job, p.family_first, p.family_last, p.parent, p.volume, p.folder, p.suffix, p.bytes,
    p.shard, p.pages, p.first_page
FROM production_item p WHERE p.job = %(job)s ORDER BY p.number;

-- name: insert_production_items
-- The items of a new job.
INSERT INTO production_item (job, number, item, source_job, family_first, family_last, parent, volume, folder, suffix,
    bytes, shard, pages, first_page)
SELECT %(job)s, number, item, source_job, family_first, family_last, parent, volume, folder, suffix, bytes, shard, pages,
    first_page
FROM json_to_recordset(%(rows)s::json) AS r (number bigint, item uuid, source_job uuid, family_first bigint,
    family_last bigint, parent bigint, volume int, folder int, suffix text, bytes bigint, shard uuid, pages int,
    first_page bigint);

-- name: put_production_files
-- What a claim has written; a claim before it may have written the same.
INSERT INTO production_file (job, number, kind, page, path, bytes, sha256, md5)
SELECT %(job)s, number, kind, page, path, bytes, decode(sha256, 'hex'), decode(md5, 'hex')
FROM json_to_recordset(%(rows)s::json)
    AS r (number bigint, kind text, page int, path text, bytes bigint, sha256 text, md5 text)
ORDER BY number, kind, page
ON CONFLICT (job, number, kind, page) DO UPDATE SET path = excluded.path, bytes = excluded.bytes,
    sha256 = excluded.sha256, md5 = excluded.md5;

-- name: put_production_pages
-- How many pages were made of items.
UPDATE production_item p SET pages = r.pages
FROM json_to_recordset(%(rows)s::json) AS r (number bigint, pages int)
WHERE p.job = %(job)s AND p.number = r.number;

-- name: number_production_pages
-- The barrier behind the rendering: pages are numbered through, in the order of the items.
UPDATE production_item p SET first_page = n.first_page
FROM (
    SELECT number, (%(first)s + sum(pages) OVER (ORDER BY number) - pages)::bigint AS first_page
    FROM production_item WHERE job = %(job)s AND pages IS NOT NULL
) AS n
WHERE p.job = %(job)s AND p.number = n.number;

-- name: production_alone
-- Jobs that are created at the same moment look at each other's numbers one after another.
SELECT pg_advisory_xact_lock(hashtext('numbers of productions'));

-- name: production_siblings
-- Jobs of a type that take items of one of these, too.
SELECT id FROM job
WHERE type = %(type)s AND id <> %(job)s AND state NOT IN ('cancelled', 'deleting')
  AND jsonb_exists_any(options -> 'production' -> 'sources', %(sources)s::text[])
ORDER BY id;

-- name: production_range
-- The first and the last number of a job: of pages where these have numbers, and whether they have.
SELECT min(coalesce(first_page, number)) AS first, max(coalesce(first_page + pages - 1, number)) AS last,
    coalesce(bool_or(first_page IS NOT NULL), FALSE) AS paged
FROM production_item WHERE job = %(job)s;

-- name: production_clash
-- Whether a number is one item's in a job and another one's in another job; or, as `whole`, is missing there.
SELECT EXISTS (
    SELECT 1 FROM production_item q LEFT JOIN production_item p ON p.job = %(other)s AND p.number = q.number
    WHERE q.job = %(job)s AND p.item IS DISTINCT FROM q.item AND (%(whole)s OR p.item IS NOT NULL)
) AS found;

-- name: production_texts
-- What of one shard a job takes, in the order of the numbers, with the owner of the document that counts.
SELECT p.number, p.item, p.volume, p.folder, p.first_page, x.owner
FROM production_item p JOIN item_index x ON x.item = p.item AND x.shard = p.shard
WHERE p.job = %(job)s AND p.shard = %(shard)s AND p.number BETWEEN %(first)s AND %(last)s
ORDER BY p.number;

-- name: production_shard
-- Where a shard is, and whose.
SELECT job, engine, location FROM shard WHERE id = %(shard)s;

-- name: production_batch
-- The items of one task, by number.
SELECT p.number, p.item, p.source_job, p.volume, p.folder, p.suffix, p.pages, p.first_page
FROM production_item p
WHERE p.job = %(job)s AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number;

-- name: production_natives
-- The items of one task by number, with what says where their bytes are; size NULL: the item has gone.
SELECT p.number, p.item, p.source_job, p.volume, p.folder, p.suffix, p.first_page,
    CASE WHEN i.parent IS NULL THEN i.ordinal END AS path, i.location, i.name, i.bytes AS size, i.sha256
FROM production_item p LEFT JOIN item i ON i.id = p.item
WHERE p.job = %(job)s AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number;

-- name: production_images
-- The pages that another job made of the items of one task.
SELECT p.number, f.page, f.path, f.sha256
FROM production_item p
JOIN production_item q ON q.job = %(images)s AND q.item = p.item
JOIN production_file f ON f.job = q.job AND f.number = q.number AND f.kind = 'image'
WHERE p.job = %(job)s AND p.number BETWEEN %(first)s AND %(last)s ORDER BY p.number, f.page;

-- name: production_folders
-- Every folder of every volume.
SELECT DISTINCT volume, folder FROM production_item WHERE job = %(job)s ORDER BY volume, folder;

-- name: production_files_of
-- What was written of the items of one folder.
SELECT f.path FROM production_item p JOIN production_file f ON f.job = p.job AND f.number = p.number
WHERE p.job = %(job)s AND p.volume = %(volume)s AND p.folder = %(folder)s;

-- name: production_records
-- Items with everything that is told of them in load files and metadata, by number, at most so many after one. These are
-- taken before anything is joined: statistics of a new job's rows are not there yet, and all of them were joined each time.
-- Custodians of duplicates are the original's, of a family its topmost item's, in source jobs that were `deduped`;
-- exceptions are of this job, of the one that found the item, and of the one whose `images` are taken.
SELECT p.number, p.family_first, p.family_last, p.parent, p.volume, p.pages, p.first_page,
    i.container_path, i.kind, i.media_type, i.bytes, i.sha256, i.message_id_hash, i.mtime_ns,
    u.display AS custodian, t.state AS text_state, t.pages AS found_pages, t.metadata,
    (SELECT coalesce(o.custodians, d.custodians) FROM duplicate d LEFT JOIN duplicate o ON o.item = d.original
        WHERE d.item = p.item AND p.source_job = ANY(%(deduped)s::uuid[])) AS custodians,
    (SELECT array_agg(DISTINCT e.code ORDER BY e.code) FROM exception e
        WHERE e.item = p.item AND e.job IN (p.job, p.source_job, %(images)s::uuid)) AS codes,
    g.first_page AS family_first_page, l.first_page + l.pages - 1 AS family_last_page, h.first_page AS parent_page
FROM (
    SELECT * FROM production_item WHERE job = %(job)s AND number > %(after)s ORDER BY number LIMIT %(limit)s
) AS p
JOIN item i ON i.id = p.item
JOIN custodian u ON u.job = i.job AND u.number = i.custodian
LEFT JOIN item_text t ON t.item = p.item
LEFT JOIN production_item g ON g.job = p.job AND g.number = p.family_first
LEFT JOIN production_item l ON l.job = p.job AND l.number = p.family_last
LEFT JOIN production_item h ON h.job = p.job AND h.number = p.parent
ORDER BY p.number;

-- name: production_files
-- What was written of items with such numbers, in order.
SELECT number, kind, page, path, bytes, sha256, md5 FROM production_file
WHERE job = %(job)s AND number BETWEEN %(first)s AND %(last)s
ORDER BY number, kind, page;

-- name: production_written
-- Sums over what was written, by kind.
SELECT kind, count(*) AS files, sum(bytes)::bigint AS bytes FROM production_file WHERE job = %(job)s GROUP BY kind
ORDER BY kind;

-- name: production_ended
-- What of items a job has written, and the sha256 of its table of hashes, in hex.
SELECT count(*) FILTER (WHERE kind <> 'report') AS files,
    coalesce(sum(bytes) FILTER (WHERE kind <> 'report'), 0)::bigint AS bytes,
    max(encode(sha256, 'hex')) FILTER (WHERE kind = 'report' AND path = 'hashes.csv') AS hashes
FROM production_file WHERE job = %(job)s;

-- name: production_of
-- Jobs that are not over and take items of this one.
SELECT id FROM job
WHERE options -> 'production' -> 'sources' ? %(job)s AND state NOT IN ('cancelled', 'completed', 'completed_with_exceptions', 'deleting')
ORDER BY id;

-- name: production_kin
-- Jobs whose items this one took, and jobs that took its items, but for those that are being deleted.
SELECT k.id FROM job j JOIN job k ON k.options -> 'production' -> 'sources' ? replace(j.id::text, '-', '')
    OR j.options -> 'production' -> 'sources' ? replace(k.id::text, '-', '')
WHERE j.id = %(job)s AND k.id <> j.id AND k.state <> 'deleting'
ORDER BY k.id;

-- name: production_pages
-- Pages of the items of a processing job beside those that the discovery counted, by type; items with an exception, which may
-- be slip sheets, are left out.
SELECT i.media_type, count(*) AS items, sum(p.pages)::bigint AS pages, sum(t.pages)::bigint AS found_pages,
    count(*) FILTER (WHERE p.pages <> t.pages) AS differing
FROM production_item p JOIN item i ON i.id = p.item JOIN item_text t ON t.item = p.item
WHERE p.job = %(job)s AND p.pages IS NOT NULL
  AND NOT EXISTS (SELECT FROM exception e WHERE e.item = p.item AND e.job IN (p.job, p.source_job))
GROUP BY i.media_type ORDER BY i.media_type;
