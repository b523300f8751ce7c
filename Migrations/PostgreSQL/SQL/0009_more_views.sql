-- What people and other programs read of workflows, groups and schedules. Public, as the views of 0008_views.sql.

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
        penstock_time(workflow.started_at) AS started_at,
        penstock_time(workflow.cancelled_at) AS cancelled_at,
        count(*) AS tasks,
        count(*) FILTER (WHERE message.state = 'pending') AS pending,
        count(*) FILTER (WHERE message.state = 'scheduled') AS scheduled,
        count(*) FILTER (WHERE message.state = 'blocked') AS blocked,
        count(*) FILTER (WHERE message.state = 'ready') AS ready,
        count(*) FILTER (WHERE message.state = 'leased') AS leased,
        count(*) FILTER (WHERE message.state = 'done') AS done,
        count(*) FILTER (WHERE message.state = 'dead') AS dead,
        count(*) FILTER (WHERE message.state = 'dropped') AS dropped,
        count(*) FILTER (WHERE message.state = 'cancelled') AS cancelled
    FROM penstock_workflow AS workflow
    JOIN penstock_task AS task ON task.workflow_id = workflow.id
    JOIN penstock_messages AS message ON message.sequence = task.sequence
    GROUP BY workflow.id
) AS counted;

CREATE VIEW penstock_tasks AS
SELECT
    workflow.name AS workflow,
    task.name AS task,
    task.sequence,
    message.queue,
    message.state,
    message.reason,
    message.attempt,
    message.due_at,
    message.finished_at,
    -- The tasks that it waits for, as a JSON array; NULL when it waits for none.
    CASE WHEN message.state = 'pending' THEN (
        SELECT '[' || coalesce(string_agg(to_json(parent.name)::TEXT, ',' ORDER BY parent.sequence), '') || ']'
        FROM penstock_dependency AS dependency JOIN penstock_task AS parent ON parent.sequence = dependency.parent
        WHERE dependency.child = task.sequence AND dependency.state = 'open') END AS waits_for,
    penstock_text(result.result) AS result
FROM penstock_workflow AS workflow
JOIN penstock_task AS task ON task.workflow_id = workflow.id
LEFT JOIN penstock_messages AS message ON message.sequence = task.sequence
LEFT JOIN penstock_result AS result ON result.sequence = task.sequence;

CREATE VIEW penstock_dependencies AS
SELECT
    workflow.name AS workflow,
    child.name AS task,
    parent.name AS waits_for,
    dependency.need,
    CASE dependency.need WHEN 'done' THEN dependency.when_dead END AS when_dead,
    dependency.state
FROM penstock_workflow AS workflow
JOIN penstock_task AS child ON child.workflow_id = workflow.id
JOIN penstock_dependency AS dependency ON dependency.child = child.sequence
JOIN penstock_task AS parent ON parent.sequence = dependency.parent;

CREATE VIEW penstock_steps AS
SELECT
    step.sequence,
    step.position,
    step.name AS step,
    penstock_time(step.recorded_at) AS recorded_at,
    penstock_text(step.result) AS result
FROM penstock_step AS step CROSS JOIN (SELECT 1) AS one;

CREATE VIEW penstock_events AS
SELECT
    workflow.name AS workflow,
    nullif(event.sequence, 0) AS sequence,
    event.name AS event,
    penstock_time(event.emitted_at) AS emitted_at,
    penstock_text(event.payload) AS payload
FROM penstock_event AS event
LEFT JOIN penstock_workflow AS workflow ON workflow.id = event.workflow_id;

-- Without the join with one row, PostgreSQL would let rows of the table be deleted through the view; so it is with others here.
CREATE VIEW penstock_limits AS
SELECT
    shared.name AS limit_name,
    shared.count AS limit_count,
    (SELECT coalesce(sum(depth.leased), 0)::BIGINT FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.share_limit = shared.name) AS leased,
    (SELECT '[' || coalesce(string_agg(to_json(queue.name)::TEXT, ',' ORDER BY queue.name), '') || ']'
        FROM penstock_queue AS queue WHERE queue.share_limit = shared.name) AS queues
FROM penstock_limit AS shared CROSS JOIN (SELECT 1) AS one;

-- Groups with messages that have a permit or wait for one, and those that are paused or put off.
CREATE VIEW penstock_groups AS
SELECT
    queue.name AS queue,
    member.group_key,
    count(*) FILTER (WHERE member.kind = 'permit') AS permits,
    count(*) FILTER (WHERE member.kind = 'blocked') AS blocked,
    count(*) FILTER (WHERE member.kind = 'pause') AS paused,
    -- Whether a dead letter holds the group.
    (count(*) FILTER (WHERE member.kind = 'permit' AND EXISTS (SELECT 1 FROM penstock_outcome AS outcome
        WHERE outcome.queue_id = member.queue_id AND outcome.sequence = member.sequence)) > 0)::INTEGER::BIGINT AS held,
    -- Until when a worker has put the group off.
    penstock_time(max(member.held_until)) AS held_until
FROM (
    SELECT 'permit' AS kind, queue_id, group_key, sequence, NULL::BIGINT AS held_until FROM penstock_permit
    UNION ALL SELECT 'blocked', queue_id, group_key, sequence, NULL FROM penstock_blocked
    UNION ALL SELECT 'pause', queue_id, group_key, NULL, NULL FROM penstock_group_pause
    UNION ALL SELECT 'rate', queue_id, group_key, NULL, held_until FROM penstock_group_rate
        WHERE held_until > (SELECT now FROM penstock_now)
) AS member
JOIN penstock_queue AS queue ON queue.id = member.queue_id
GROUP BY queue.id, member.group_key;

-- How much the groups weigh that share their queue fairly, but for those that weigh 1.
CREATE VIEW penstock_weights AS
SELECT queue.name AS queue, weight.group_key, weight.weight
FROM penstock_weight AS weight JOIN penstock_queue AS queue ON queue.id = weight.queue_id;

CREATE VIEW penstock_schedules AS
SELECT
    schedule.name,
    queue.name AS queue,
    schedule.spec,
    schedule.zone,
    penstock_text(schedule.payload) AS payload,
    schedule.headers,
    schedule.priority,
    schedule.attempts_max,
    schedule.unique_key,
    schedule.missed,
    schedule.missed_window / 1000000.0::DOUBLE PRECISION AS missed_window,
    schedule.jitter / 1000000.0::DOUBLE PRECISION AS jitter,
    penstock_time(schedule.starts_at) AS starts_at,
    penstock_time(schedule.ends_at) AS ends_at,
    schedule.paused,
    CASE WHEN schedule.paused = 0 AND schedule.next_due < 9223372036854775807 THEN
        penstock_time(schedule.next_due) END AS next_due,
    schedule.fired_total,
    schedule.missed_total,
    schedule.problem,
    schedule.group_key,
    schedule.key_scope / 1000000.0::DOUBLE PRECISION AS key_scope,
    schedule.expires_after / 1000000.0::DOUBLE PRECISION AS expires_after
FROM penstock_schedule AS schedule
JOIN penstock_queue AS queue ON queue.id = schedule.queue_id;

CREATE VIEW penstock_firings AS
SELECT
    schedule.name AS schedule,
    penstock_time(firing.due) AS due,
    penstock_time(firing.fired_at) AS fired_at,
    firing.outcome,
    firing.sequence
FROM penstock_firing AS firing
JOIN penstock_schedule AS schedule ON schedule.id = firing.schedule_id;

-- How many messages waited, and were worked, for how long at most.
CREATE VIEW penstock_latencies AS
WITH bound (number, seconds) AS (VALUES
    (1, 0.0001::DOUBLE PRECISION), (2, 0.000251), (3, 0.000631), (4, 0.001585), (5, 0.003981), (6, 0.01), (7, 0.025119),
    (8, 0.063096), (9, 0.158489), (10, 0.398107), (11, 1.0), (12, 2.511886), (13, 6.309573), (14, 15.848932), (15, 39.810717),
    (16, 100.0), (17, 251.188643), (18, 630.957344), (19, 1584.893192), (20, 3981.071706), (21, 10000.0), (22, 25118.864315),
    (23, 63095.734448), (24, 158489.319246)),
latency AS (
    SELECT queue.name AS queue, phase.name AS phase,
        CASE phase.name WHEN 'wait' THEN depth.wait_latency ELSE depth.work_latency END AS text
    FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id
    CROSS JOIN (VALUES ('wait'), ('work')) AS phase (name)),
counted AS (
    SELECT queue, phase, CASE WHEN text ~ '^\[\d{1,18}(,\d{1,18})*\]$' THEN translate(text, '[]', '{}')::BIGINT[] END AS numbers
    FROM latency)
SELECT counted.queue, counted.phase, bound.seconds AS up_to_seconds, bucket.value AS count,
    counted.numbers[1] / 1000000.0::DOUBLE PRECISION AS total_seconds
FROM counted CROSS JOIN unnest(counted.numbers) WITH ORDINALITY AS bucket (value, place)
LEFT JOIN bound ON bound.number = bucket.place - 1
WHERE bucket.place > 1;

INSERT INTO penstock_migration VALUES (9, 'more_views', penstock_now() / 1000000 * 1000000);
