-- What people and other programs see of rates, turns and expiry.

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

INSERT INTO penstock_migration VALUES (21, 'start_views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
