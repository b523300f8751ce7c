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
    tat         INTEGER CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- The boot clock of this queue's numbers and those of its groups, and by how much it was behind the wall clock when somebody
    -- started a message last, to a second.
    clock       TEXT    NOT NULL,
    wall_offset INTEGER NOT NULL CHECK (wall_offset BETWEEN -4611686018427387903 AND 4611686018427387903)
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

-- As in 0016_group_views.sql, with the groups that workers have put off.
DROP VIEW penstock_groups;
CREATE VIEW penstock_groups AS
SELECT
    queue.name AS queue,
    member.group_key,
    sum(member.kind = 'permit') AS permits,
    sum(member.kind = 'blocked') AS blocked,
    sum(member.kind = 'pause') AS paused,
    -- Whether a dead letter holds the group.
    sum(member.kind = 'permit' AND EXISTS (SELECT 1 FROM penstock_outcome AS outcome
        WHERE outcome.queue_id = member.queue_id AND outcome.sequence = member.sequence)) > 0 AS held,
    -- Until when a worker has put the group off.
    strftime('%Y-%m-%dT%H:%M:%S', max(member.held_until) / 1000000, 'unixepoch')
        || printf('.%06dZ', max(member.held_until) % 1000000) AS held_until
FROM (
    SELECT 'permit' AS kind, queue_id, group_key, sequence, NULL AS held_until FROM penstock_permit
    UNION ALL SELECT 'blocked', queue_id, group_key, sequence, NULL FROM penstock_blocked
    UNION ALL SELECT 'pause', queue_id, group_key, NULL, NULL FROM penstock_group_pause
    UNION ALL SELECT 'rate', queue_id, group_key, NULL, held_until FROM penstock_group_rate
        WHERE held_until > (SELECT now FROM penstock_now)
) AS member
JOIN penstock_queue AS queue ON queue.id = member.queue_id
GROUP BY member.queue_id, member.group_key;

-- How much the groups weigh that share their queue fairly, but for those that weigh 1.
CREATE VIEW penstock_weights AS
SELECT queue.name AS queue, weight.group_key, weight.weight
FROM penstock_weight AS weight JOIN penstock_queue AS queue ON queue.id = weight.queue_id;

-- As in 0008_deletion.sql.
CREATE TRIGGER penstock_messages_insert_deleting INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT RAISE(ABORT, 'penstock: the queue is being deleted, and takes no messages')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND deleting);
END;

INSERT INTO penstock_migration VALUES (23, 'rates', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
