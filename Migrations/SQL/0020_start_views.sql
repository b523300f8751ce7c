-- What the views say of turns, expiry and the scopes of unique keys.

-- As in 0015_group_insert.sql, with turns: rows that have one do not lie in the order of the log.
DROP VIEW penstock_oldest_waiting;
CREATE VIEW penstock_oldest_waiting AS
SELECT queue.id AS queue_id, coalesce(
    (SELECT min(sequence) FROM (
        SELECT (WITH RECURSIVE known (priority) AS (
            SELECT max(priority) FROM penstock_ready WHERE queue_id = queue.id
            UNION ALL
            SELECT (SELECT max(priority) FROM penstock_ready AS below
                WHERE below.queue_id = queue.id AND below.priority < known.priority)
            FROM known WHERE known.priority IS NOT NULL
        ) SELECT min((SELECT min(sequence) FROM penstock_ready AS first
            WHERE first.queue_id = queue.id AND first.priority = known.priority AND first.turn = 0)) FROM known) AS sequence
        UNION ALL
        SELECT (SELECT min(sequence) FROM penstock_ready AS fair WHERE fair.queue_id = queue.id AND fair.turn <> 0)
        UNION ALL
        SELECT (SELECT min(sequence) FROM penstock_blocked AS blocked WHERE blocked.queue_id = queue.id))),
    (SELECT sequence FROM penstock_scheduled WHERE queue_id = queue.id ORDER BY due_at, sequence LIMIT 1)
) AS sequence
FROM penstock_queue AS queue;

-- As in 0015_group_insert.sql, with the new columns at the end. SQLite drops the triggers of a view with the view.
DROP VIEW penstock_messages;
CREATE VIEW penstock_messages AS
SELECT
    log.sequence,
    queue.name AS queue,
    CASE
        WHEN outcome.state IS NOT NULL THEN outcome.state
        WHEN lease.sequence IS NOT NULL THEN 'leased'
        WHEN scheduled.sequence IS NOT NULL THEN 'scheduled'
        WHEN pending.sequence IS NOT NULL THEN 'pending'
        WHEN blocked.sequence IS NOT NULL THEN 'blocked'
        ELSE 'ready'
    END AS state,
    outcome.reason,
    log.priority,
    coalesce(outcome.attempt, lease.attempt, scheduled.attempt, ready.attempt, pending.attempt, blocked.attempt)
        AS attempt,
    coalesce(log.attempts_max, queue.attempts_max) AS attempts_max,
    strftime('%Y-%m-%dT%H:%M:%S', log.enqueued_at / 1000000, 'unixepoch')
        || printf('.%06dZ', log.enqueued_at % 1000000) AS enqueued_at,
    strftime('%Y-%m-%dT%H:%M:%S', scheduled.due_at / 1000000, 'unixepoch')
        || printf('.%06dZ', scheduled.due_at % 1000000) AS due_at,
    strftime('%Y-%m-%dT%H:%M:%S', lease.claimed_at / 1000000, 'unixepoch')
        || printf('.%06dZ', lease.claimed_at % 1000000) AS claimed_at,
    strftime('%Y-%m-%dT%H:%M:%S', outcome.finished_at / 1000000, 'unixepoch')
        || printf('.%06dZ', outcome.finished_at % 1000000) AS finished_at,
    worker.name AS worker,
    log.unique_key,
    log.headers,
    log.origin,
    CAST(log.payload AS TEXT) AS payload,
    log.group_key,
    strftime('%Y-%m-%dT%H:%M:%S', log.expires_at / 1000000, 'unixepoch')
        || printf('.%06dZ', log.expires_at % 1000000) AS expires_at,
    log.key_scope
FROM penstock_log AS log
JOIN penstock_queue AS queue ON queue.id = log.queue_id
LEFT JOIN penstock_outcome AS outcome ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
LEFT JOIN penstock_lease AS lease ON lease.sequence = log.sequence
LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
LEFT JOIN penstock_pending AS pending ON pending.queue_id = log.queue_id AND pending.sequence = log.sequence
LEFT JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence
LEFT JOIN penstock_ready AS ready
    ON ready.queue_id = log.queue_id AND ready.priority = log.priority AND ready.turn = log.turn
    AND ready.sequence = log.sequence
LEFT JOIN penstock_worker AS worker ON worker.id = lease.worker_id;

-- The message that a plain INSERT has written into the log, unless it was dropped as it came.
CREATE VIEW penstock_arrived AS
SELECT log.sequence, log.queue_id, log.enqueued_at, log.priority, log.unique_key, log.key_scope, log.expires_at, log.group_key,
    log.turn,
    (log.unique_key IS NOT NULL AND ifnull(log.key_scope, 0) = 0) + 32 * (ifnull(log.key_scope, 1) = 0)
        + 16 * (log.expires_at IS NOT NULL) + 8 * (log.group_key IS NOT NULL) AS marks,
    -- Whether it is neither due later nor blocked, as far as that is written down.
    NOT EXISTS (SELECT 1 FROM penstock_scheduled AS scheduled WHERE scheduled.sequence = log.sequence)
        AND NOT EXISTS (SELECT 1 FROM penstock_blocked AS blocked
            WHERE blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence) AS is_ready,
    -- Its group among those that share a queue, and by how much it puts off the next one of that.
    coalesce(log.group_key, '') AS share_key,
    1000000 / coalesce((SELECT weight FROM penstock_weight AS weight
        WHERE weight.queue_id = log.queue_id AND weight.group_key = coalesce(log.group_key, '')), 1) AS step
FROM penstock_state JOIN penstock_log AS log ON log.sequence = last_sequence
WHERE NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
    WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence);

INSERT INTO penstock_migration VALUES (20, 'start_views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
