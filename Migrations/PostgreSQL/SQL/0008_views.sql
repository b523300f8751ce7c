-- What people and other programs read. These views are public: their names and columns stay, and new columns come at the end.
-- Times are ISO 8601 in UTC, to the microsecond. Payloads are shown as text; the bytes are in penstock_log.

-- As it is shown: NULL beyond the years that have four digits.
CREATE FUNCTION penstock_time(BIGINT) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN $1 BETWEEN -62135596800000000 AND 253402300799999999 THEN
        to_char(TIMESTAMP '1970-01-01' + INTERVAL '1 second' * ($1 / 1000000), 'YYYY-MM-DD"T"HH24:MI:SS')
            || '.' || lpad(($1 % 1000000)::TEXT, 6, '0') || 'Z' END
$$;

-- A view beside the function of that name: statements read it so in SQLite.
CREATE VIEW penstock_now AS SELECT penstock_now() AS now;

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
    penstock_time(log.enqueued_at) AS enqueued_at,
    penstock_time(scheduled.due_at) AS due_at,
    penstock_time(lease.claimed_at) AS claimed_at,
    penstock_time(outcome.finished_at) AS finished_at,
    worker.name AS worker,
    log.unique_key,
    log.headers,
    log.origin,
    penstock_text(log.payload) AS payload,
    log.group_key,
    penstock_time(log.expires_at) AS expires_at,
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

CREATE VIEW penstock_queues AS
SELECT
    queue.name AS queue,
    queue.paused,
    queue.capacity,
    queue.when_full,
    depth.scheduled,
    depth.ready,
    depth.leased,
    depth.dead,
    depth.kept,
    depth.enqueued_total,
    depth.done_total,
    depth.dead_total,
    depth.dropped_total,
    depth.cancelled_total,
    depth.retried_total,
    depth.reclaimed_total,
    queue.deleting,
    depth.pending,
    depth.blocked,
    queue.fifo,
    queue.on_dead,
    queue.limit_per_key,
    queue.limit_count,
    queue.share_limit,
    queue.rate_count,
    queue.rate_period,
    queue.rate_burst,
    queue.key_rate_count,
    queue.key_rate_period,
    queue.key_rate_burst,
    queue.fair,
    queue.when_expired
FROM penstock_queue AS queue
JOIN penstock_depth AS depth ON depth.queue_id = queue.id;

CREATE VIEW penstock_attempts AS
SELECT
    attempt.sequence,
    queue.name AS queue,
    attempt.attempt,
    attempt.outcome,
    attempt.error,
    attempt.worker,
    penstock_time(attempt.started_at) AS started_at,
    penstock_time(attempt.ended_at) AS ended_at
FROM penstock_attempt AS attempt
JOIN penstock_log AS log ON log.sequence = attempt.sequence
JOIN penstock_queue AS queue ON queue.id = log.queue_id;

CREATE VIEW penstock_dead_letters AS
SELECT
    outcome.sequence,
    queue.name AS queue,
    outcome.reason,
    outcome.attempt,
    penstock_time(outcome.finished_at) AS finished_at,
    (SELECT error FROM penstock_attempt AS attempt WHERE attempt.sequence = outcome.sequence
        ORDER BY attempt.attempt DESC LIMIT 1) AS last_error,
    penstock_text(log.payload) AS payload
FROM penstock_queue AS queue
JOIN penstock_outcome AS outcome
    ON outcome.queue_id = queue.id AND outcome.state = 'dead'
JOIN penstock_log AS log ON log.sequence = outcome.sequence AND log.queue_id = outcome.queue_id;

CREATE VIEW penstock_drops AS
SELECT
    outcome.sequence,
    queue.name AS queue,
    outcome.reason AS policy,
    penstock_time(outcome.finished_at) AS dropped_at,
    penstock_text(log.payload) AS payload
FROM penstock_queue AS queue
JOIN penstock_outcome AS outcome
    ON outcome.queue_id = queue.id AND outcome.state = 'dropped'
JOIN penstock_log AS log ON log.sequence = outcome.sequence AND log.queue_id = outcome.queue_id;

-- A remote worker has no process here.
CREATE VIEW penstock_workers AS
SELECT
    worker.id AS worker,
    worker.name,
    CASE WHEN remote.worker_id IS NULL THEN worker.process_id END AS process_id,
    penstock_time(worker.started_at) AS started_at,
    (SELECT count(*) FROM penstock_lease AS lease WHERE lease.worker_id = worker.id) AS leased
FROM penstock_worker AS worker
LEFT JOIN penstock_remote_worker AS remote ON remote.worker_id = worker.id;

CREATE VIEW penstock_running AS
SELECT
    lease.sequence,
    queue.name AS queue,
    worker.name AS worker,
    lease.attempt,
    penstock_time(lease.claimed_at) AS claimed_at,
    progress.millionths / 1000000.0::DOUBLE PRECISION AS fraction,
    progress.text AS progress,
    penstock_time(progress.reported_at) AS reported_at,
    (request.sequence IS NOT NULL)::INTEGER::BIGINT AS cancel_requested
FROM penstock_lease AS lease
JOIN penstock_queue AS queue ON queue.id = lease.queue_id
LEFT JOIN penstock_worker AS worker ON worker.id = lease.worker_id
LEFT JOIN penstock_progress AS progress ON progress.sequence = lease.sequence
LEFT JOIN penstock_cancel AS request ON request.sequence = lease.sequence;

CREATE VIEW penstock_cancels AS
SELECT
    request.sequence,
    queue.name AS queue,
    penstock_time(request.requested_at) AS requested_at,
    request.time / 1000000.0::DOUBLE PRECISION AS seconds,
    worker.name AS worker
FROM penstock_cancel AS request
JOIN penstock_lease AS lease ON lease.sequence = request.sequence
JOIN penstock_queue AS queue ON queue.id = lease.queue_id
LEFT JOIN penstock_worker AS worker ON worker.id = lease.worker_id;

CREATE VIEW penstock_cursors AS
SELECT
    queue.name AS queue,
    cursor.name AS cursor,
    cursor.sequence,
    (SELECT count(*) FROM penstock_log AS log
        WHERE log.queue_id = cursor.queue_id AND log.sequence > cursor.sequence) AS ahead,
    cursor.missed,
    cursor.note,
    penstock_time(cursor.moved_at) AS moved_at
FROM penstock_cursor AS cursor
JOIN penstock_queue AS queue ON queue.id = cursor.queue_id;

CREATE VIEW penstock_quarantined AS
SELECT
    quarantine.id,
    quarantine.sequence,
    queue.name AS queue,
    quarantine.source,
    quarantine.reason,
    penstock_time(quarantine.set_aside_at) AS set_aside_at,
    quarantine.columns,
    penstock_text(quarantine.payload) AS payload
FROM penstock_quarantine AS quarantine
LEFT JOIN penstock_queue AS queue ON queue.id = quarantine.queue_id;

-- The message of each queue that goes first when room is wanted. By indexes, however many wait: the first of each priority that
-- is not shared fairly, of those that are, and of those that are blocked; and only then one that is not due.
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
        SELECT (SELECT min(sequence) FROM penstock_blocked AS blocked WHERE blocked.queue_id = queue.id)) AS waiting),
    (SELECT sequence FROM penstock_scheduled WHERE queue_id = queue.id ORDER BY due_at, sequence LIMIT 1)
) AS sequence
FROM penstock_queue AS queue CROSS JOIN (SELECT 1) AS one;

INSERT INTO penstock_migration VALUES (8, 'views', penstock_now() / 1000000 * 1000000);
