-- What people and other programs see of groups and limits.

-- As in 0012_pending.sql, with the new columns at the end.
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
    queue.share_limit
FROM penstock_queue AS queue
JOIN penstock_depth AS depth ON depth.queue_id = queue.id;

-- As in 0013_workflows.sql, with the new column at the end.
DROP VIEW penstock_workflows;
CREATE VIEW penstock_workflows AS
SELECT
    workflow,
    CASE
        WHEN scheduled + blocked + ready + leased > 0 THEN 'running'
        WHEN pending > 0 THEN 'held'
        WHEN cancelled_at IS NOT NULL THEN 'cancelled'
        WHEN dead + dropped + cancelled > 0 THEN 'failed'
        ELSE 'done'
    END AS state,
    started_at,
    cancelled_at,
    tasks, pending, scheduled, ready, leased, done, dead, dropped, cancelled,
    blocked
FROM (
    SELECT
        workflow.name AS workflow,
        strftime('%Y-%m-%dT%H:%M:%S', workflow.started_at / 1000000, 'unixepoch')
            || printf('.%06dZ', workflow.started_at % 1000000) AS started_at,
        strftime('%Y-%m-%dT%H:%M:%S', workflow.cancelled_at / 1000000, 'unixepoch')
            || printf('.%06dZ', workflow.cancelled_at % 1000000) AS cancelled_at,
        count(*) AS tasks,
        sum(message.state = 'pending') AS pending,
        sum(message.state = 'scheduled') AS scheduled,
        sum(message.state = 'blocked') AS blocked,
        sum(message.state = 'ready') AS ready,
        sum(message.state = 'leased') AS leased,
        sum(message.state = 'done') AS done,
        sum(message.state = 'dead') AS dead,
        sum(message.state = 'dropped') AS dropped,
        sum(message.state = 'cancelled') AS cancelled
    FROM penstock_workflow AS workflow
    JOIN penstock_task AS task ON task.workflow_id = workflow.id
    JOIN penstock_messages AS message ON message.sequence = task.sequence
    GROUP BY workflow.id
);

-- Groups with messages that have a permit or wait for one, and those that are paused.
CREATE VIEW penstock_groups AS
SELECT
    queue.name AS queue,
    member.group_key,
    sum(member.kind = 'permit') AS permits,
    sum(member.kind = 'blocked') AS blocked,
    sum(member.kind = 'pause') AS paused,
    -- Whether a dead letter holds the group.
    sum(member.kind = 'permit' AND EXISTS (SELECT 1 FROM penstock_outcome AS outcome
        WHERE outcome.queue_id = member.queue_id AND outcome.sequence = member.sequence)) > 0 AS held
FROM (
    SELECT 'permit' AS kind, queue_id, group_key, sequence FROM penstock_permit
    UNION ALL SELECT 'blocked', queue_id, group_key, sequence FROM penstock_blocked
    UNION ALL SELECT 'pause', queue_id, group_key, NULL FROM penstock_group_pause
) AS member
JOIN penstock_queue AS queue ON queue.id = member.queue_id
GROUP BY member.queue_id, member.group_key;

CREATE VIEW penstock_limits AS
SELECT
    shared.name AS limit_name,
    shared.count AS limit_count,
    (SELECT coalesce(sum(depth.leased), 0) FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.share_limit = shared.name) AS leased,
    (SELECT json_group_array(name) FROM (
        SELECT queue.name FROM penstock_queue AS queue WHERE queue.share_limit = shared.name ORDER BY queue.name)) AS queues
FROM penstock_limit AS shared;

INSERT INTO penstock_migration VALUES (16, 'group_views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
