-- What is asked of a worker that has a message and what it says meanwhile, and who waits for the message's end.

-- Three more marks of a row in line, beside those of 0012_pending.sql:
--    64  its worker is asked to end, and it has a row in penstock_cancel
--   128  somebody waits for its end, and its log is rung for then
--   256  its worker says how far it has come, and it has a row in penstock_progress

-- A leased message whose worker is asked to end, so that it can be cancelled. The row goes when the message leaves the lease: then
-- it is done or cancelled, and never back in line.
CREATE TABLE penstock_cancel (
    sequence     INTEGER PRIMARY KEY,
    -- The claim that the request is for.
    token        INTEGER NOT NULL,
    requested_at INTEGER NOT NULL,
    -- How many microseconds the worker has.
    time         INTEGER NOT NULL CHECK (time >= 0),
    -- When they are over, on the boot clock of the worker: the lease is not extended beyond this. NULL: whoever asked reads
    -- another clock, and the worker's next extension says when.
    until        INTEGER
) STRICT;

-- How far the work on a leased message has come. The row goes when the message leaves the lease.
CREATE TABLE penstock_progress (
    sequence    INTEGER PRIMARY KEY,
    -- NULL: its worker does not know.
    millionths  INTEGER CHECK (millionths BETWEEN 0 AND 1000000),
    text        TEXT    NOT NULL,
    reported_at INTEGER NOT NULL
) STRICT;

-- Public, as the views of 0004_views.sql: names and columns stay.
CREATE VIEW penstock_running AS
SELECT
    lease.sequence,
    queue.name AS queue,
    worker.name AS worker,
    lease.attempt,
    strftime('%Y-%m-%dT%H:%M:%S', lease.claimed_at / 1000000, 'unixepoch')
        || printf('.%06dZ', lease.claimed_at % 1000000) AS claimed_at,
    progress.millionths / 1000000.0 AS fraction,
    progress.text AS progress,
    strftime('%Y-%m-%dT%H:%M:%S', progress.reported_at / 1000000, 'unixepoch')
        || printf('.%06dZ', progress.reported_at % 1000000) AS reported_at,
    request.sequence IS NOT NULL AS cancel_requested
FROM penstock_lease AS lease
JOIN penstock_queue AS queue ON queue.id = lease.queue_id
LEFT JOIN penstock_worker AS worker ON worker.id = lease.worker_id
LEFT JOIN penstock_progress AS progress ON progress.sequence = lease.sequence
LEFT JOIN penstock_cancel AS request ON request.sequence = lease.sequence;

CREATE VIEW penstock_cancels AS
SELECT
    request.sequence,
    queue.name AS queue,
    strftime('%Y-%m-%dT%H:%M:%S', request.requested_at / 1000000, 'unixepoch')
        || printf('.%06dZ', request.requested_at % 1000000) AS requested_at,
    request.time / 1000000.0 AS seconds,
    worker.name AS worker
FROM penstock_cancel AS request
JOIN penstock_lease AS lease ON lease.sequence = request.sequence
JOIN penstock_queue AS queue ON queue.id = lease.queue_id
LEFT JOIN penstock_worker AS worker ON worker.id = lease.worker_id;

INSERT INTO penstock_migration VALUES (17, 'running', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
