-- Portions: what a task has found so far is written before it is done (decision 0042).

-- name: portion
-- The first statement of every portion, as the fence is of a finish: no row means that the task is not this claim's (any
-- more), or that an earlier portion of it was lost by a crash of the server.
UPDATE task
SET portions = portions + 1, portion_tokens =
    CASE WHEN portion_tokens @> ARRAY[%(token)s::uuid] THEN portion_tokens ELSE portion_tokens || %(token)s::uuid END
WHERE id = %(task)s AND token = %(token)s AND state = 'running' AND portions = %(before)s;

-- name: portions_of
-- How many portions the ledger has seen of a task that is still this claim's.
SELECT portions FROM task WHERE id = %(task)s AND token = %(token)s AND state = 'running';

-- name: let_go
-- Tasks of the same phase that this claim wrote in portions may be done now.
UPDATE task SET state = 'pending'
WHERE job = %(job)s AND phase = %(phase)s AND state = 'held' AND origin = %(task)s AND origin_token = %(token)s;

-- name: take_out_tasks
-- Some of the tasks that earlier claims of this one wrote and never finished, with the items they are for: none of those
-- of this phase was let go, and other phases have not begun.
WITH gone AS (
    DELETE FROM task WHERE id IN (
        SELECT id FROM task
        WHERE job = %(job)s AND origin = %(task)s AND origin_token <> %(token)s LIMIT %(limit)s
    )
    RETURNING phase, payload
)
DELETE FROM item WHERE id IN (
    SELECT named::uuid FROM gone CROSS JOIN LATERAL jsonb_array_elements_text(gone.payload -> 'items') AS named
    WHERE gone.phase = 'index'
);

-- name: has_to_take_out
-- Whether there are more of them.
SELECT EXISTS (SELECT 1 FROM task WHERE job = %(job)s AND origin = %(task)s AND origin_token <> %(token)s);

-- name: take_out_indexed
-- Some of the items that such claims had indexed at once (single-pass); texts, owners and counts go with their items.
DELETE FROM item WHERE id IN (
    SELECT x.item FROM item_index x
    WHERE x.job = %(job)s AND x.owner IN (
        SELECT replace(t::text, '-', '') FROM task CROSS JOIN LATERAL unnest(portion_tokens) AS t
        WHERE task.id = %(task)s AND t <> %(token)s
    )
    LIMIT %(limit)s
);

-- name: take_out_exceptions
-- Exceptions of such claims.
DELETE FROM exception WHERE job = %(job)s AND task = %(task)s AND token <> %(token)s;

-- name: forget_portions
-- Nothing of earlier claims is left.
UPDATE task SET portion_tokens = ARRAY[%(token)s::uuid] WHERE id = %(task)s;
