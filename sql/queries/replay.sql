-- Replays: who plays which client, when all of them start, and what each found (controller.replay).

-- name: insert_replay_clients
-- The clients of a new replay, each for one host.
INSERT INTO replay_client (job, client, host)
SELECT %(job)s, f.client, f.host FROM unnest(%(clients)s::int[], %(hosts)s::text[]) AS f (client, host);

-- name: taken_by_task
-- The client that a claim of a task had, if any did.
SELECT client, token, worker, slot FROM replay_client WHERE job = %(job)s AND task = %(task)s;

-- name: take_replay_client
-- The first free client of this host becomes this claim's; nothing when there is none.
UPDATE replay_client
SET task = %(task)s, token = %(token)s, worker = %(worker)s, slot = %(slot)s, taken_at = clock_timestamp()
WHERE job = %(job)s AND client = (
    SELECT client FROM replay_client
    WHERE job = %(job)s AND host = %(host)s AND task IS NULL ORDER BY client LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING client;

-- name: replay_client_ready
-- The client that a claim has is ready, since now or since it first was; no row when the claim has none (any more).
UPDATE replay_client SET ready_at = coalesce(ready_at, clock_timestamp()) WHERE job = %(job)s AND token = %(token)s;

-- name: replay_standing
-- The job's state; how many clients there are, and how many are ready; when all start, once all are; and the time now,
-- by the database's clock.
SELECT j.state, c.clients, c.ready,
    CASE WHEN c.clients = c.ready THEN extract(epoch FROM c.latest)::float8 + %(lead)s END AS start,
    extract(epoch FROM clock_timestamp())::float8 AS now
FROM job j CROSS JOIN (
    SELECT count(*) AS clients, count(ready_at) AS ready, max(ready_at) AS latest
    FROM replay_client WHERE job = %(job)s
) AS c
WHERE j.id = %(job)s;

-- name: put_replay_result
-- What a client found; behind the fence of its task.
UPDATE replay_client SET result = %(result)s::jsonb, finished_at = clock_timestamp()
WHERE job = %(job)s AND client = %(client)s;

-- name: replay_clients
-- Every client of a replay.
SELECT client, host, worker, slot, extract(epoch FROM taken_at)::float8 AS taken,
    extract(epoch FROM ready_at)::float8 AS ready, extract(epoch FROM finished_at)::float8 AS finished, result
FROM replay_client WHERE job = %(job)s ORDER BY client;

-- name: live_seats
-- Slots of live workers by host; containers of one machine are hosts of their own: they share no memory.
SELECT boot_id || '/' || host AS host, sum(slots)::int AS slots FROM worker
WHERE stopped_at IS NULL AND seen_at > clock_timestamp() - make_interval(secs => %(seconds)s)
GROUP BY 1 ORDER BY 2 DESC, 1;
