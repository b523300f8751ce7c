-- The rate of a whole queue, and what people and other programs see of rates, turns and expiry.

-- So many messages of the queue start in so many microseconds, and so many at once.
ALTER TABLE penstock_queue ADD COLUMN rate_count INTEGER CHECK (rate_count BETWEEN 1 AND 1000000);
ALTER TABLE penstock_queue ADD COLUMN rate_period INTEGER
    CHECK (rate_period BETWEEN 1000 AND 2592000000000 AND rate_period >= rate_count);
ALTER TABLE penstock_queue ADD COLUMN rate_burst INTEGER NOT NULL DEFAULT 1 CHECK (rate_burst BETWEEN 1 AND 1000000);

-- What the rate has let start, as in penstock_group_rate.
CREATE TABLE penstock_rate (
    queue_id    INTEGER PRIMARY KEY,
    -- NULL: nothing is known of it.
    tat         INTEGER,
    -- The boot clock of this queue's numbers and those of its groups, and by how much it was behind the wall clock when they
    -- were reckoned by it first.
    clock       TEXT    NOT NULL,
    wall_offset INTEGER NOT NULL
) STRICT;

-- As in 0016_group_views.sql, with the new columns at the end.
DROP VIEW penstock_queues;
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

-- How much the groups weigh that share their queue fairly, but for those that weigh 1.
CREATE VIEW penstock_weights AS
SELECT queue.name AS queue, share.group_key, share.weight
FROM penstock_share AS share JOIN penstock_queue AS queue ON queue.id = share.queue_id
WHERE share.weight > 1;

INSERT INTO penstock_migration VALUES (22, 'rates', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
