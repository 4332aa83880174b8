-- What a killed command left behind.

-- name: return_orphans
-- Running tasks of a job while no worker lives: pending again, without waiting for their leases. Should a slot live
-- all the same, the fence drops its work.
UPDATE task SET state = 'pending', lease = NULL WHERE job = %(job)s AND state = 'running';
