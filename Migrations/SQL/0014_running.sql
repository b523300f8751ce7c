-- What is asked of a worker that has a message, and who waits for the message's end.

-- Two more marks of a row in line, beside those of 0012_pending.sql:
--    64  its worker is asked to end, and it has a row in penstock_cancel
--   128  somebody waits for its end, and its log is rung for then

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

-- Public, as the views of 0004_views.sql: names and columns stay.
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

INSERT INTO penstock_migration VALUES (14, 'running', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
