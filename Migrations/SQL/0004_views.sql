-- What people and other programs read. These views are public: their names and columns stay.
-- Times are ISO 8601 in UTC, to the microsecond. Payloads are shown as text; the bytes are in penstock_log.

CREATE VIEW penstock_messages AS
SELECT
    log.sequence,
    queue.name AS queue,
    CASE
        WHEN outcome.state IS NOT NULL THEN outcome.state
        WHEN lease.sequence IS NOT NULL THEN 'leased'
        WHEN scheduled.sequence IS NOT NULL THEN 'scheduled'
        ELSE 'ready'
    END AS state,
    outcome.reason,
    log.priority,
    coalesce(outcome.attempt, lease.attempt, scheduled.attempt, ready.attempt) AS attempt,
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
    CAST(log.payload AS TEXT) AS payload
FROM penstock_log AS log
JOIN penstock_queue AS queue ON queue.id = log.queue_id
LEFT JOIN penstock_outcome AS outcome ON outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence
LEFT JOIN penstock_lease AS lease ON lease.sequence = log.sequence
LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
LEFT JOIN penstock_ready AS ready
    ON ready.queue_id = log.queue_id AND ready.priority = log.priority AND ready.sequence = log.sequence
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
    depth.reclaimed_total
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
    strftime('%Y-%m-%dT%H:%M:%S', attempt.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', attempt.started_at % 1000000) AS started_at,
    strftime('%Y-%m-%dT%H:%M:%S', attempt.ended_at / 1000000, 'unixepoch')
        || printf('.%06dZ', attempt.ended_at % 1000000) AS ended_at
FROM penstock_attempt AS attempt
JOIN penstock_log AS log ON log.sequence = attempt.sequence
JOIN penstock_queue AS queue ON queue.id = log.queue_id;

CREATE VIEW penstock_dead_letters AS
SELECT
    outcome.sequence,
    queue.name AS queue,
    outcome.reason,
    outcome.attempt,
    strftime('%Y-%m-%dT%H:%M:%S', outcome.finished_at / 1000000, 'unixepoch')
        || printf('.%06dZ', outcome.finished_at % 1000000) AS finished_at,
    (SELECT error FROM penstock_attempt AS attempt WHERE attempt.sequence = outcome.sequence
        ORDER BY attempt.attempt DESC LIMIT 1) AS last_error,
    CAST(log.payload AS TEXT) AS payload
FROM penstock_queue AS queue
JOIN penstock_outcome AS outcome INDEXED BY penstock_outcome_dead
    ON outcome.queue_id = queue.id AND outcome.state = 'dead'
JOIN penstock_log AS log ON log.sequence = outcome.sequence AND log.queue_id = outcome.queue_id;

CREATE VIEW penstock_drops AS
SELECT
    outcome.sequence,
    queue.name AS queue,
    outcome.reason AS policy,
    strftime('%Y-%m-%dT%H:%M:%S', outcome.finished_at / 1000000, 'unixepoch')
        || printf('.%06dZ', outcome.finished_at % 1000000) AS dropped_at,
    CAST(log.payload AS TEXT) AS payload
FROM penstock_queue AS queue
JOIN penstock_outcome AS outcome INDEXED BY penstock_outcome_dropped
    ON outcome.queue_id = queue.id AND outcome.state = 'dropped'
JOIN penstock_log AS log ON log.sequence = outcome.sequence AND log.queue_id = outcome.queue_id;

CREATE VIEW penstock_workers AS
SELECT
    worker.id AS worker,
    worker.name,
    worker.process_id,
    strftime('%Y-%m-%dT%H:%M:%S', worker.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', worker.started_at % 1000000) AS started_at,
    (SELECT count(*) FROM penstock_lease AS lease WHERE lease.worker_id = worker.id) AS leased
FROM penstock_worker AS worker;

INSERT INTO penstock_migration VALUES (4, 'views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
