-- Made by tools/baseline from the steps in Migrations/SQL; change those. A new file gets this in their place: the same tables,
-- without those that a later step made anew.

CREATE TABLE penstock_migration (
    version    INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;
CREATE TABLE penstock_queue (
    id              INTEGER PRIMARY KEY,
    name            TEXT    NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    paused          INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    -- NULL: any number of messages may wait.
    capacity        INTEGER CHECK (capacity BETWEEN 1 AND 1000000000),
    when_full       TEXT    CHECK (when_full IN ('dropNewest', 'dropOldest', 'fail', 'wait')),
    attempts_max    INTEGER NOT NULL DEFAULT 10      CHECK (attempts_max BETWEEN 1 AND 1000),
    -- Durations are microseconds, of ten years at most.
    retry_base      INTEGER NOT NULL DEFAULT 1000000 CHECK (retry_base >= 0),
    retry_factor    REAL    NOT NULL DEFAULT 2.0     CHECK (retry_factor BETWEEN 1 AND 100),
    retry_cap       INTEGER NOT NULL DEFAULT 3600000000
                            CHECK (retry_cap BETWEEN retry_base AND 315360000000000),
    retry_jitter    REAL    NOT NULL DEFAULT 0.5     CHECK (retry_jitter BETWEEN 0 AND 1),
    -- Retention in microseconds and messages; NULL: no limit.
    retain_age      INTEGER DEFAULT 604800000000 CHECK (retain_age BETWEEN 0 AND 315360000000000),
    retain_count    INTEGER CHECK (retain_count >= 0),
    retain_dead_age INTEGER CHECK (retain_dead_age BETWEEN 0 AND 315360000000000), deleting INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1)), fifo INTEGER NOT NULL DEFAULT 0 CHECK (fifo = 0 OR fifo = 1), on_dead TEXT NOT NULL DEFAULT 'next' CHECK (on_dead = 'next' OR on_dead = 'hold'), limit_per_key INTEGER
    CHECK (limit_per_key IS NULL OR limit_per_key BETWEEN 1 AND 1000 AND fifo = 0), limit_count INTEGER CHECK (limit_count BETWEEN 1 AND 1000000), share_limit TEXT, fair INTEGER NOT NULL DEFAULT 0 CHECK (fair = 0 OR fair = 1), when_expired TEXT NOT NULL DEFAULT 'drop'
    CHECK (when_expired = 'drop' OR when_expired = 'dead'), key_rate_count INTEGER CHECK (key_rate_count BETWEEN 1 AND 1000000), key_rate_period INTEGER
    CHECK (key_rate_period BETWEEN 1000 AND 2592000000000 AND key_rate_period >= key_rate_count), key_rate_burst INTEGER NOT NULL DEFAULT 1
    CHECK (key_rate_burst BETWEEN 1 AND 1000000), rate_count INTEGER CHECK (rate_count BETWEEN 1 AND 1000000), rate_period INTEGER
    CHECK (rate_period BETWEEN 1000 AND 2592000000000 AND rate_period >= rate_count), rate_burst INTEGER NOT NULL DEFAULT 1 CHECK (rate_burst BETWEEN 1 AND 1000000),
    CHECK ((capacity IS NULL) = (when_full IS NULL))
) STRICT;
CREATE TABLE penstock_depth (
    queue_id        INTEGER PRIMARY KEY,
    scheduled       INTEGER NOT NULL DEFAULT 0 CHECK (scheduled >= 0),
    ready           INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
    leased          INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0),
    dead            INTEGER NOT NULL DEFAULT 0 CHECK (dead >= 0),
    kept            INTEGER NOT NULL DEFAULT 0 CHECK (kept >= 0),
    enqueued_total  INTEGER NOT NULL DEFAULT 0,
    done_total      INTEGER NOT NULL DEFAULT 0,
    dead_total      INTEGER NOT NULL DEFAULT 0,
    dropped_total   INTEGER NOT NULL DEFAULT 0,
    cancelled_total INTEGER NOT NULL DEFAULT 0,
    retried_total   INTEGER NOT NULL DEFAULT 0,
    reclaimed_total INTEGER NOT NULL DEFAULT 0
, pending INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0), blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked >= 0), wait_latency TEXT, work_latency TEXT) STRICT;
CREATE TABLE penstock_state (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    -- The last sequence number given, so that none is used twice however much is deleted.
    last_sequence  INTEGER NOT NULL,
    -- Moves whenever a queue's policy does, so that processes may keep policies in memory.
    policy_version INTEGER NOT NULL,
    -- Moves when something has to reach the disk that an earlier transaction wrote without waiting for it.
    flush_count    INTEGER NOT NULL DEFAULT 0,
    -- Within a plain INSERT the message that it drops; otherwise NULL.
    dropping       INTEGER
, moving TEXT CHECK (moving IN ('draining', 'copying', 'moved'))) STRICT;
CREATE TRIGGER penstock_queue_inserted AFTER INSERT ON penstock_queue BEGIN
    INSERT INTO penstock_depth (queue_id) VALUES (NEW.id);
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_queue_updated AFTER UPDATE ON penstock_queue BEGIN
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_queue_deleted AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_depth WHERE queue_id = OLD.id;
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TABLE penstock_log (
    sequence     INTEGER PRIMARY KEY,
    queue_id     INTEGER NOT NULL,
    enqueued_at  INTEGER NOT NULL,
    priority     INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    -- NULL: as many as the queue's policy says.
    attempts_max INTEGER,
    unique_key   TEXT,
    -- A JSON object of strings, or NULL for none.
    headers      TEXT,
    -- The message that this one is a replay of.
    origin       INTEGER,
    payload      BLOB    NOT NULL
, group_key TEXT, turn INTEGER NOT NULL DEFAULT 0, expires_at INTEGER, key_scope INTEGER CHECK (key_scope >= 0)) STRICT;
CREATE INDEX penstock_log_queue ON penstock_log (queue_id);
CREATE TABLE penstock_scheduled (
    sequence INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    due_at   INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    marks    INTEGER NOT NULL
) STRICT;
CREATE INDEX penstock_scheduled_due ON penstock_scheduled (queue_id, due_at);
CREATE TABLE penstock_lease (
    sequence   INTEGER PRIMARY KEY,
    queue_id   INTEGER NOT NULL,
    -- New with every claim: who settles must show it.
    token      INTEGER NOT NULL,
    worker_id  INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    -- Microseconds on the boot clock of the worker's boot, not on the wall clock.
    deadline   INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    forgiven   INTEGER NOT NULL,
    marks      INTEGER NOT NULL
) STRICT;
CREATE TABLE penstock_unique (
    queue_id   INTEGER NOT NULL,
    unique_key TEXT    NOT NULL,
    sequence   INTEGER NOT NULL, since INTEGER,
    PRIMARY KEY (queue_id, unique_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_worker (
    id         INTEGER PRIMARY KEY,
    lock_name  TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    process_id INTEGER NOT NULL,
    -- Deadlines of its leases count from this boot.
    boot_id    TEXT    NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;
CREATE TABLE penstock_attempt (
    sequence   INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    error      TEXT    NOT NULL,
    worker     TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    PRIMARY KEY (sequence, attempt)
) STRICT, WITHOUT ROWID;
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
CREATE VIEW penstock_now AS
SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 AS now;
CREATE TABLE penstock_cursor (
    queue_id INTEGER NOT NULL,
    name     TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    -- Everything up to this sequence number is behind it.
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    -- Messages that were forgotten before it came to them, or that its reader gave up.
    missed   INTEGER NOT NULL DEFAULT 0 CHECK (missed >= 0),
    note     TEXT,
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_answer (
    slot     INTEGER PRIMARY KEY,
    ticket   INTEGER NOT NULL,
    receipts BLOB    NOT NULL
) STRICT;
CREATE TABLE penstock_quarantine (
    id           INTEGER PRIMARY KEY,
    set_aside_at INTEGER NOT NULL,
    -- What is wrong with the row, in one sentence.
    reason       TEXT    NOT NULL,
    -- The table that the row was in.
    source       TEXT    NOT NULL,
    sequence     INTEGER,
    queue_id     INTEGER,
    -- The row's columns as a JSON object, but for a payload.
    columns      TEXT    NOT NULL,
    payload      BLOB
) STRICT;
CREATE VIEW penstock_quarantined AS
SELECT
    quarantine.id,
    quarantine.sequence,
    queue.name AS queue,
    quarantine.source,
    quarantine.reason,
    strftime('%Y-%m-%dT%H:%M:%S', quarantine.set_aside_at / 1000000, 'unixepoch')
        || printf('.%06dZ', quarantine.set_aside_at % 1000000) AS set_aside_at,
    quarantine.columns,
    CAST(quarantine.payload AS TEXT) AS payload
FROM penstock_quarantine AS quarantine
LEFT JOIN penstock_queue AS queue ON queue.id = quarantine.queue_id;
CREATE TABLE penstock_schedule (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    queue_id      INTEGER NOT NULL,
    -- As people write it: '0 3 * * *'.
    spec          TEXT    NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 200),
    -- Of the IANA database.
    zone          TEXT    NOT NULL DEFAULT 'UTC' CHECK (length(CAST(zone AS BLOB)) <= 64),
    -- The message, as in penstock_log.
    payload       BLOB    NOT NULL,
    headers       TEXT,
    priority      INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    attempts_max  INTEGER CHECK (attempts_max BETWEEN 1 AND 1000),
    unique_key    TEXT    CHECK (length(CAST(unique_key AS BLOB)) BETWEEN 1 AND 500),
    on_conflict   TEXT    NOT NULL DEFAULT 'skip' CHECK (on_conflict IN ('skip', 'replace')),
    missed        TEXT    NOT NULL DEFAULT 'one' CHECK (missed IN ('skip', 'one', 'all')),
    -- Durations are microseconds.
    missed_window INTEGER NOT NULL DEFAULT 86400000000 CHECK (missed_window BETWEEN 0 AND 315360000000000),
    jitter        INTEGER NOT NULL DEFAULT 0 CHECK (jitter BETWEEN 0 AND 86400000000),
    starts_at     INTEGER,
    ends_at       INTEGER,
    paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    -- From where a spec such as '@every 90s' counts, unless the schedule has a start.
    anchor        INTEGER NOT NULL,
    -- NULL: the next process reckons it. 9223372036854775807: never.
    next_due      INTEGER,
    -- next_due is the first firing after this moment. NULL: nothing was reckoned yet.
    reckoned_from INTEGER,
    -- Moves with every change but a firing.
    revision      INTEGER NOT NULL DEFAULT 0,
    -- Made of the zone's data that next_due was reckoned with. Another number says that the data has changed.
    zone_data     INTEGER,
    fired_total   INTEGER NOT NULL DEFAULT 0,
    missed_total  INTEGER NOT NULL DEFAULT 0,
    -- Why it does not fire.
    problem       TEXT
, group_key TEXT, key_scope INTEGER CHECK (key_scope >= 0), expires_after INTEGER CHECK (expires_after > 0)) STRICT;
CREATE INDEX penstock_schedule_due ON penstock_schedule (queue_id, paused, next_due);
CREATE INDEX penstock_schedule_next ON penstock_schedule (paused, next_due);
CREATE TABLE penstock_firing (
    schedule_id INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    fired_at    INTEGER NOT NULL,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('enqueued', 'skipped', 'queueFull', 'byHand')),
    sequence    INTEGER,
    PRIMARY KEY (schedule_id, due)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER penstock_schedule_inserted AFTER INSERT ON penstock_schedule BEGIN
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_schedule_moved AFTER UPDATE OF queue_id ON penstock_schedule BEGIN
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_schedule_deleted AFTER DELETE ON penstock_schedule BEGIN
    DELETE FROM penstock_firing WHERE schedule_id = OLD.id;
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_queue_deleted_schedules AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_schedule WHERE queue_id = OLD.id;
END;
CREATE VIEW penstock_firings AS
SELECT
    schedule.name AS schedule,
    strftime('%Y-%m-%dT%H:%M:%S', firing.due / 1000000, 'unixepoch')
        || printf('.%06dZ', firing.due % 1000000) AS due,
    strftime('%Y-%m-%dT%H:%M:%S', firing.fired_at / 1000000, 'unixepoch')
        || printf('.%06dZ', firing.fired_at % 1000000) AS fired_at,
    firing.outcome,
    firing.sequence
FROM penstock_firing AS firing
JOIN penstock_schedule AS schedule ON schedule.id = firing.schedule_id;
CREATE VIEW penstock_schedule_check AS SELECT NULL AS headers, NULL AS unique_key WHERE 0;
CREATE TABLE penstock_pending (
    queue_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    marks    INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_workflow (
    -- The sequence number of its first task, so that none is used twice.
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    started_at   INTEGER NOT NULL,
    cancelled_at INTEGER
) STRICT;
CREATE TABLE penstock_task (
    -- Its message.
    sequence    INTEGER PRIMARY KEY,
    workflow_id INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    -- Of one that waits for others: it is not due before this moment, and not before so many microseconds have passed since it
    -- waits no more. NULL: at once. Here and not with the message in line, as it may be cancelled and wait again.
    due_at      INTEGER,
    delay       INTEGER CHECK (delay BETWEEN 0 AND 315360000000000),
    UNIQUE (workflow_id, name)
) STRICT;
CREATE INDEX penstock_task_workflow ON penstock_task (workflow_id);
CREATE TABLE penstock_dependency (
    parent    INTEGER NOT NULL,
    child     INTEGER NOT NULL,
    need      TEXT    NOT NULL CHECK (need = 'done' OR need = 'ended'),
    -- Where the need is 'done': what becomes of the child when the parent is a dead letter.
    when_dead TEXT    NOT NULL CHECK (when_dead = 'cancel' OR when_dead = 'hold'),
    state     TEXT    NOT NULL CHECK (state = 'open' OR state = 'met' OR state = 'failed'),
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_dependency_child ON penstock_dependency (child, state);
CREATE TABLE penstock_cascade (
    -- The workflow that is cancelled, and whose open tasks are gone through; or the message whose children are. The other
    -- number is 0. With sequence -1: the workflow that an event came to, and whose tasks are gone through that wait for it.
    workflow_id INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    -- The last one that was looked at.
    after       INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_result (
    sequence INTEGER PRIMARY KEY,
    result   BLOB    NOT NULL
) STRICT;
CREATE TABLE penstock_step (
    sequence    INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    -- 1, 2, 3, ... in the order in which they were recorded.
    position    INTEGER NOT NULL,
    result      BLOB    NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (sequence, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_event (
    workflow_id INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    payload     BLOB    NOT NULL,
    emitted_at  INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, sequence, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_awaited (
    sequence    INTEGER PRIMARY KEY,
    -- 0: it is no task.
    workflow_id INTEGER NOT NULL,
    name        TEXT    NOT NULL
) STRICT;
CREATE INDEX penstock_awaited_workflow ON penstock_awaited (workflow_id, name);
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
        SELECT json_group_array(parent.name)
        FROM penstock_dependency AS dependency JOIN penstock_task AS parent ON parent.sequence = dependency.parent
        WHERE dependency.child = task.sequence AND dependency.state = 'open') END AS waits_for,
    CAST(result.result AS TEXT) AS result
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
    strftime('%Y-%m-%dT%H:%M:%S', step.recorded_at / 1000000, 'unixepoch')
        || printf('.%06dZ', step.recorded_at % 1000000) AS recorded_at,
    CAST(step.result AS TEXT) AS result
FROM penstock_step AS step;
CREATE VIEW penstock_events AS
SELECT
    workflow.name AS workflow,
    nullif(event.sequence, 0) AS sequence,
    event.name AS event,
    strftime('%Y-%m-%dT%H:%M:%S', event.emitted_at / 1000000, 'unixepoch')
        || printf('.%06dZ', event.emitted_at % 1000000) AS emitted_at,
    CAST(event.payload AS TEXT) AS payload
FROM penstock_event AS event
LEFT JOIN penstock_workflow AS workflow ON workflow.id = event.workflow_id;
CREATE INDEX penstock_queue_share_limit ON penstock_queue (share_limit) WHERE share_limit IS NOT NULL;
CREATE TABLE penstock_limit (
    name  TEXT    NOT NULL PRIMARY KEY CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    count INTEGER NOT NULL CHECK (count BETWEEN 1 AND 1000000)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER penstock_queue_share_limit_inserted BEFORE INSERT ON penstock_queue WHEN NEW.share_limit IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no limit of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_limit WHERE name = NEW.share_limit);
END;
CREATE TRIGGER penstock_queue_share_limit_updated BEFORE UPDATE OF share_limit ON penstock_queue
WHEN NEW.share_limit IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no limit of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_limit WHERE name = NEW.share_limit);
END;
CREATE TRIGGER penstock_limit_renamed BEFORE UPDATE OF name ON penstock_limit WHEN NEW.name <> OLD.name BEGIN
    SELECT RAISE(ABORT, 'penstock: queues share that limit')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE share_limit = OLD.name);
END;
CREATE TRIGGER penstock_limit_deleted BEFORE DELETE ON penstock_limit BEGIN
    SELECT RAISE(ABORT, 'penstock: queues share that limit')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE share_limit = OLD.name);
END;
CREATE TABLE penstock_permit (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    sequence  INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_blocked (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    priority  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    forgiven  INTEGER NOT NULL,
    marks     INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key, priority DESC, sequence)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX penstock_blocked_sequence ON penstock_blocked (queue_id, sequence);
CREATE TABLE penstock_group_pause (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    paused_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_regroup (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
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
CREATE VIEW penstock_limits AS
SELECT
    shared.name AS limit_name,
    shared.count AS limit_count,
    (SELECT coalesce(sum(depth.leased), 0) FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.share_limit = shared.name) AS leased,
    (SELECT json_group_array(name) FROM (
        SELECT queue.name FROM penstock_queue AS queue WHERE queue.share_limit = shared.name ORDER BY queue.name)) AS queues
FROM penstock_limit AS shared;
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
CREATE TABLE penstock_progress (
    sequence    INTEGER PRIMARY KEY,
    -- NULL: its worker does not know.
    millionths  INTEGER CHECK (millionths BETWEEN 0 AND 1000000),
    text        TEXT    NOT NULL,
    reported_at INTEGER NOT NULL
) STRICT;
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
CREATE TABLE penstock_ready (
    queue_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    turn     INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    marks    INTEGER NOT NULL, ready_since INTEGER,
    PRIMARY KEY (queue_id, priority DESC, turn, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_ready_sequence ON penstock_ready (queue_id, sequence) WHERE turn <> 0;
CREATE TABLE penstock_outcome (
    queue_id    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    state       TEXT    NOT NULL CHECK (state = 'done' OR state = 'dead' OR state = 'dropped' OR state = 'cancelled'),
    reason      TEXT,
    attempt     INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_outcome_ended ON penstock_outcome (queue_id, finished_at) WHERE state <> 'dead';
CREATE INDEX penstock_outcome_died ON penstock_outcome (queue_id, finished_at) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dead ON penstock_outcome (queue_id, sequence) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dropped ON penstock_outcome (queue_id, sequence) WHERE state = 'dropped';
CREATE TABLE penstock_fair (
    queue_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    -- The turn that was claimed last. A priority without a row: 1.
    turn     INTEGER NOT NULL CHECK (turn BETWEEN 1 AND 4611686018427387903),
    PRIMARY KEY (queue_id, priority)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_share (
    queue_id   INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    -- Empty: all messages without a group.
    group_key  TEXT    NOT NULL,
    -- The turn behind its last message.
    next_turn  INTEGER NOT NULL CHECK (next_turn BETWEEN 0 AND 4611686018427387903),
    -- The turn behind the last of its messages that came back, to be tried again. Never behind next_turn.
    again_turn INTEGER NOT NULL CHECK (again_turn BETWEEN 0 AND 4611686018427387903),
    PRIMARY KEY (queue_id, priority, group_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_share_passed ON penstock_share (queue_id, priority, next_turn);
CREATE TABLE penstock_weight (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    weight    INTEGER NOT NULL CHECK (weight BETWEEN 2 AND 1000),
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_expiry (
    sequence   INTEGER PRIMARY KEY,
    queue_id   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX penstock_expiry_first ON penstock_expiry (queue_id, expires_at);
CREATE TABLE penstock_unique_period (
    queue_id   INTEGER NOT NULL,
    unique_key TEXT    NOT NULL,
    sequence   INTEGER NOT NULL,
    -- The key is free from then on.
    until      INTEGER NOT NULL,
    since      INTEGER,
    PRIMARY KEY (queue_id, unique_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_unique_period_until ON penstock_unique_period (queue_id, until);
CREATE TABLE penstock_group_rate (
    queue_id   INTEGER NOT NULL,
    group_key  TEXT    NOT NULL,
    -- The generic cell rate algorithm keeps one number, the theoretical arrival time of the next start, in microseconds on the
    -- boot clock that 0023_rates.sql names.
    tat        INTEGER NOT NULL CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- Until when a worker has put the group off, as the wall clock says it.
    held_until INTEGER NOT NULL DEFAULT 0 CHECK (held_until BETWEEN 0 AND 253402300799999999),
    -- From when on a claim sees whether the group may go on, on the boot clock. NULL: it does not wait for its time.
    opens_at   INTEGER CHECK (opens_at BETWEEN 0 AND 4611686018427387903),
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_group_rate_opening ON penstock_group_rate (queue_id, opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX penstock_group_rate_passed ON penstock_group_rate (queue_id, tat) WHERE opens_at IS NULL;
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
CREATE VIEW penstock_schedules AS
SELECT
    schedule.name,
    queue.name AS queue,
    schedule.spec,
    schedule.zone,
    CAST(schedule.payload AS TEXT) AS payload,
    schedule.headers,
    schedule.priority,
    schedule.attempts_max,
    schedule.unique_key,
    schedule.missed,
    schedule.missed_window / 1000000.0 AS missed_window,
    schedule.jitter / 1000000.0 AS jitter,
    strftime('%Y-%m-%dT%H:%M:%S', schedule.starts_at / 1000000, 'unixepoch')
        || printf('.%06dZ', schedule.starts_at % 1000000) AS starts_at,
    strftime('%Y-%m-%dT%H:%M:%S', schedule.ends_at / 1000000, 'unixepoch')
        || printf('.%06dZ', schedule.ends_at % 1000000) AS ends_at,
    schedule.paused,
    CASE WHEN schedule.paused = 0 AND schedule.next_due < 9223372036854775807 THEN
        strftime('%Y-%m-%dT%H:%M:%S', schedule.next_due / 1000000, 'unixepoch')
            || printf('.%06dZ', schedule.next_due % 1000000) END AS next_due,
    schedule.fired_total,
    schedule.missed_total,
    schedule.problem,
    schedule.group_key,
    schedule.key_scope / 1000000.0 AS key_scope,
    schedule.expires_after / 1000000.0 AS expires_after
FROM penstock_schedule AS schedule
JOIN penstock_queue AS queue ON queue.id = schedule.queue_id;
CREATE VIEW penstock_schedule_start_check AS
    SELECT NULL AS queue, NULL AS unique_key, NULL AS group_key, NULL AS key_scope, NULL AS expires_after WHERE 0;
CREATE TRIGGER penstock_schedules_delete INSTEAD OF DELETE ON penstock_schedules BEGIN
    DELETE FROM penstock_schedule WHERE name = OLD.name;
END;
CREATE TABLE penstock_rate (
    queue_id    INTEGER PRIMARY KEY,
    -- NULL: nothing is known of it.
    tat         INTEGER CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- The boot clock of this queue's numbers and those of its groups, and by how much it was behind the wall clock when somebody
    -- started a message last, to a second.
    clock       TEXT    NOT NULL,
    wall_offset INTEGER NOT NULL CHECK (wall_offset BETWEEN -4611686018427387903 AND 4611686018427387903)
) STRICT;
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
CREATE VIEW penstock_weights AS
SELECT queue.name AS queue, weight.group_key, weight.weight
FROM penstock_weight AS weight JOIN penstock_queue AS queue ON queue.id = weight.queue_id;
CREATE TABLE penstock_remote_worker (
    worker_id   INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    -- When it claimed last, to ten seconds.
    seen_at     INTEGER NOT NULL,
    -- By how much the clock of penstock_worker.boot_id was behind the wall clock then, to a second: after a reboot its leases go on
    -- by the wall clock.
    wall_offset INTEGER NOT NULL CHECK (wall_offset BETWEEN -4611686018427387903 AND 4611686018427387903)
) STRICT;
CREATE VIEW penstock_workers AS
SELECT
    worker.id AS worker,
    worker.name,
    CASE WHEN remote.worker_id IS NULL THEN worker.process_id END AS process_id,
    strftime('%Y-%m-%dT%H:%M:%S', worker.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', worker.started_at % 1000000) AS started_at,
    (SELECT count(*) FROM penstock_lease AS lease WHERE lease.worker_id = worker.id) AS leased
FROM penstock_worker AS worker
LEFT JOIN penstock_remote_worker AS remote ON remote.worker_id = worker.id;
CREATE INDEX penstock_blocked_first ON penstock_blocked (queue_id, group_key, sequence) WHERE marks & 512;
CREATE VIEW penstock_dropped_next AS
SELECT blocked.queue_id, blocked.priority, log.turn, blocked.sequence, blocked.attempt, blocked.forgiven,
    blocked.marks & ~512 AS marks FROM penstock_state CROSS JOIN penstock_log AS dropped ON dropped.sequence = dropping
CROSS JOIN penstock_permit AS permit ON permit.queue_id = dropped.queue_id AND permit.group_key = dropped.group_key
CROSS JOIN penstock_blocked AS blocked ON blocked.queue_id = permit.queue_id AND blocked.sequence = permit.sequence
CROSS JOIN penstock_log AS log ON log.sequence = blocked.sequence;
CREATE INDEX penstock_log_unique ON penstock_log (unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX penstock_ready_since ON penstock_ready (queue_id, ready_since) WHERE ready_since IS NOT NULL;
CREATE TRIGGER penstock_blocked_passed AFTER DELETE ON penstock_blocked
WHEN (SELECT dropping FROM penstock_state WHERE id = 1) IS NOT NULL BEGIN
    UPDATE penstock_ready SET ready_since = (SELECT now FROM penstock_now)
        WHERE queue_id = OLD.queue_id AND priority = OLD.priority AND sequence = OLD.sequence
        AND turn = (SELECT turn FROM penstock_log AS log WHERE log.sequence = OLD.sequence);
END;
CREATE VIEW penstock_latencies AS
WITH bound (number, seconds) AS (VALUES
    (1, 0.0001), (2, 0.000251), (3, 0.000631), (4, 0.001585), (5, 0.003981), (6, 0.01), (7, 0.025119), (8, 0.063096),
    (9, 0.158489), (10, 0.398107), (11, 1.0), (12, 2.511886), (13, 6.309573), (14, 15.848932), (15, 39.810717), (16, 100.0),
    (17, 251.188643), (18, 630.957344), (19, 1584.893192), (20, 3981.071706), (21, 10000.0), (22, 25118.864315),
    (23, 63095.734448), (24, 158489.319246)),
phase (name) AS (VALUES ('wait'), ('work')),
latency AS (
    SELECT queue.name AS queue, phase.name AS phase,
        CASE phase.name WHEN 'wait' THEN depth.wait_latency ELSE depth.work_latency END AS numbers
    FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id JOIN phase)
SELECT latency.queue, latency.phase, bound.seconds AS up_to_seconds, bucket.value AS count,
    json_extract(latency.numbers, '$[0]') / 1000000.0 AS total_seconds
FROM latency JOIN json_each(CASE WHEN json_valid(latency.numbers) THEN latency.numbers ELSE '[]' END) AS bucket
    ON bucket.key > 0
LEFT JOIN bound ON bound.number = bucket.key;
CREATE TRIGGER penstock_moving BEFORE UPDATE OF last_sequence ON penstock_state
WHEN OLD.moving <> 'draining' AND NEW.last_sequence BETWEEN OLD.last_sequence + 1 AND OLD.last_sequence + 999999999 BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store');
END;
CREATE TABLE penstock_store (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    -- By chance; nothing else of a store tells it from a copy.
    store_id      TEXT NOT NULL,
    -- The move, by chance as well: a move that was cancelled and begun anew is another one.
    move_id       TEXT,
    -- The store to which the queues go: as people are told of it, without a password, and its store_id.
    moved_to      TEXT,
    moved_to_id   TEXT,
    -- How this store was called by the move.
    moved_from    TEXT,
    moving_since  INTEGER
) STRICT;
CREATE TABLE penstock_arrival (
    move_id         TEXT    PRIMARY KEY,
    source_id       TEXT    NOT NULL,
    -- The store from which the messages came, as people are told of it.
    source          TEXT    NOT NULL,
    -- A message's number here is by so much higher than it was there. Those that came have numbers between the two.
    sequence_offset INTEGER NOT NULL,
    first_sequence  INTEGER NOT NULL,
    last_sequence   INTEGER NOT NULL,
    -- Whether what has ended came as well.
    with_log        INTEGER NOT NULL CHECK (with_log IN (0, 1)),
    -- How far it has come: the tables are taken one after the other, and of the messages those up to this number of the source's.
    stage           INTEGER NOT NULL,
    place           INTEGER NOT NULL,
    begun_at        INTEGER NOT NULL,
    -- NULL: it is not finished.
    finished_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE penstock_arriving (
    queue_id        INTEGER PRIMARY KEY,
    move_id         TEXT    NOT NULL,
    source_queue_id INTEGER NOT NULL
) STRICT;
CREATE TRIGGER penstock_queue_deleted_arriving AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_arriving WHERE queue_id = OLD.id;
END;
CREATE VIEW penstock_origins AS
SELECT log.sequence, queue.name AS queue, arrival.source, log.sequence - arrival.sequence_offset AS source_sequence
FROM penstock_arrival AS arrival
JOIN penstock_log AS log ON log.sequence BETWEEN arrival.first_sequence AND arrival.last_sequence
JOIN penstock_queue AS queue ON queue.id = log.queue_id;
CREATE VIEW penstock_dropping AS
SELECT log.queue_id, log.sequence, log.priority, log.turn, log.unique_key, log.group_key, coalesce(log.group_key, '') AS share_key,
    ready.sequence IS NOT NULL AS is_ready, scheduled.sequence IS NOT NULL AS is_scheduled, blocked.sequence IS NOT NULL AS is_blocked,
    coalesce(ready.attempt, scheduled.attempt, blocked.attempt) AS attempt,
    -- By how much its start would have put off the next one of those that share the queue, and whether it goes first of its group.
    1000000 / coalesce((SELECT weight FROM penstock_weight AS weight
        WHERE weight.queue_id = log.queue_id AND weight.group_key = coalesce(log.group_key, '')), 1) AS step,
    ready.attempt > ready.forgiven AS again
FROM penstock_state CROSS JOIN penstock_log AS log ON log.sequence = dropping
LEFT JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
    AND ready.turn = log.turn AND ready.sequence = log.sequence
LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
LEFT JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence;
CREATE VIEW penstock_position AS
WITH RECURSIVE position (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM position WHERE n < 500) SELECT n FROM position;
CREATE TRIGGER penstock_schedule_checked INSTEAD OF INSERT ON penstock_schedule_check BEGIN
    SELECT RAISE(ABORT, 'penstock: headers must be a JSON object of strings, as text')
        WHERE NEW.headers IS NOT NULL AND CASE
            WHEN typeof(NEW.headers) <> 'text' OR NOT json_valid(NEW.headers) THEN 1
            ELSE json_type(NEW.headers) <> 'object'
                OR EXISTS (SELECT 1 FROM json_each(NEW.headers) WHERE type <> 'text') END;
    SELECT RAISE(ABORT, 'penstock: headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or .')
        WHERE NEW.headers IS NOT NULL AND (
            EXISTS (SELECT 1 FROM json_each(NEW.headers)
                WHERE length(key) NOT BETWEEN 1 AND 100 OR key GLOB '*[^-A-Za-z0-9_.]*')
            OR (SELECT count(*) > 64 OR total(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))) > 16384
                FROM json_each(NEW.headers)));
    SELECT RAISE(ABORT, 'penstock: two headers have the same name but for case and punctuation')
        WHERE NEW.headers IS NOT NULL
        AND (SELECT count(*) > count(DISTINCT upper(replace(replace(key, '-', '_'), '.', '_')))
            FROM json_each(NEW.headers));
    SELECT RAISE(ABORT, 'penstock: headers cannot hold zero bytes')
        WHERE instr(replace(NEW.headers, '\\', ''), '\u0000') > 0;
    SELECT RAISE(ABORT, 'penstock: unique_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.unique_key IS NOT NULL AND (typeof(NEW.unique_key) <> 'text'
            OR length(CAST(NEW.unique_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.unique_key AS BLOB), x'00') > 0
            OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.unique_key AS BLOB))
                AND substr(NEW.unique_key, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.unique_key, n, 1))), char(65534), char(65535))));
END;
CREATE TRIGGER penstock_schedule_start_checked INSTEAD OF INSERT ON penstock_schedule_start_check BEGIN
    SELECT RAISE(ABORT, 'penstock: group_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.group_key IS NOT NULL AND (typeof(NEW.group_key) <> 'text'
            OR length(CAST(NEW.group_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.group_key AS BLOB), x'00') > 0
            OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.group_key AS BLOB))
                AND substr(NEW.group_key, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.group_key, n, 1))), char(65534), char(65535))));
    SELECT RAISE(ABORT, 'penstock: the queue has no groups')
        WHERE NEW.group_key IS NOT NULL
        AND EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND fifo = 0 AND limit_per_key IS NULL AND fair = 0);
    SELECT RAISE(ABORT, 'penstock: key_scope must be NULL, 0 or 0.001 to 31622400 seconds, with a unique_key')
        WHERE NEW.key_scope IS NOT NULL AND (NEW.unique_key IS NULL OR typeof(NEW.key_scope) NOT IN ('integer', 'real')
            OR NEW.key_scope <> 0 AND NEW.key_scope NOT BETWEEN 0.001 AND 31622400);
    SELECT RAISE(ABORT, 'penstock: expires_after must be NULL or 0.000001 to 315360000 seconds')
        WHERE NEW.expires_after IS NOT NULL AND (typeof(NEW.expires_after) NOT IN ('integer', 'real')
            OR NEW.expires_after NOT BETWEEN 0.000001 AND 315360000);
END;
CREATE TRIGGER penstock_schedules_insert INSTEAD OF INSERT ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: name must be text of 1 to 200 bytes, without control characters')
        WHERE typeof(NEW.name) <> 'text' OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 200
        OR NEW.name <> trim(NEW.name) OR instr(CAST(NEW.name AS BLOB), x'00') > 0
        OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.name AS BLOB))
            AND substr(NEW.name, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.name, n, 1))), char(65534), char(65535)))
        OR NEW.name GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
        -- What changes the direction of the text around it.
        OR NEW.name GLOB '*[' || char(8234) || '-' || char(8238) || char(8294) || '-' || char(8297) || ']*';
    SELECT RAISE(ABORT, 'penstock: there is a schedule of that name already')
        WHERE EXISTS (SELECT 1 FROM penstock_schedule WHERE name = NEW.name);
    SELECT RAISE(ABORT, 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)')
        WHERE NEW.payload IS NULL OR length(CAST(NEW.payload AS BLOB)) > 16777216;
    SELECT RAISE(ABORT, 'penstock: spec must be text, such as 0 3 * * *')
        WHERE typeof(NEW.spec) <> 'text' OR length(CAST(NEW.spec AS BLOB)) NOT BETWEEN 1 AND 200;
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check
        VALUES (NEW.queue, NEW.unique_key, NEW.group_key, NEW.key_scope, NEW.expires_after);
    SELECT RAISE(ABORT, 'penstock: starts_at and ends_at must be ISO 8601 text, in this order')
        WHERE NEW.starts_at IS NOT NULL AND (julianday(NEW.starts_at) IS NULL
            OR date(julianday(substr(NEW.starts_at, 1, 10))) IS NOT substr(NEW.starts_at, 1, 10)
            OR length(NEW.starts_at) <> length(CAST(NEW.starts_at AS BLOB)))
        OR NEW.ends_at IS NOT NULL AND (julianday(NEW.ends_at) IS NULL
            OR date(julianday(substr(NEW.ends_at, 1, 10))) IS NOT substr(NEW.ends_at, 1, 10)
            OR length(NEW.ends_at) <> length(CAST(NEW.ends_at AS BLOB)))
        OR julianday(NEW.ends_at) < julianday(NEW.starts_at);
    INSERT INTO penstock_schedule (name, queue_id, spec, zone, payload, headers, priority, attempts_max, unique_key,
        missed, missed_window, jitter, starts_at, ends_at, paused, anchor, group_key, key_scope, expires_after)
    SELECT NEW.name, queue.id, NEW.spec, coalesce(NEW.zone, 'UTC'), CAST(NEW.payload AS BLOB), NEW.headers,
        coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, coalesce(NEW.missed, 'one'),
        CAST(coalesce(NEW.missed_window, 86400) * 1000000 AS INTEGER), CAST(coalesce(NEW.jitter, 0) * 1000000 AS INTEGER),
        CAST(strftime('%s', NEW.starts_at) AS INTEGER) * 1000000, CAST(strftime('%s', NEW.ends_at) AS INTEGER) * 1000000,
        coalesce(NEW.paused, 0), (SELECT now FROM penstock_now), NEW.group_key,
        CAST(round(NEW.key_scope * 1000000) AS INTEGER), CAST(round(NEW.expires_after * 1000000) AS INTEGER)
    FROM penstock_queue AS queue WHERE queue.name = NEW.queue;
END;
CREATE TRIGGER penstock_schedules_update INSTEAD OF UPDATE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: name, starts_at, ends_at, next_due, problem and totals cannot be changed; make another schedule')
        WHERE NEW.name IS NOT OLD.name OR NEW.starts_at IS NOT OLD.starts_at OR NEW.ends_at IS NOT OLD.ends_at
        OR NEW.next_due IS NOT OLD.next_due OR NEW.fired_total IS NOT OLD.fired_total
        OR NEW.missed_total IS NOT OLD.missed_total OR NEW.problem IS NOT OLD.problem;
    SELECT RAISE(ABORT, 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)')
        WHERE NEW.payload IS NULL OR length(CAST(NEW.payload AS BLOB)) > 16777216;
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check
        VALUES (NEW.queue, NEW.unique_key, NEW.group_key, NEW.key_scope, NEW.expires_after);
    UPDATE penstock_schedule SET
        queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue), spec = NEW.spec, zone = NEW.zone,
        payload = CASE WHEN NEW.payload IS OLD.payload THEN payload ELSE CAST(NEW.payload AS BLOB) END,
        headers = NEW.headers, priority = NEW.priority, attempts_max = NEW.attempts_max, unique_key = NEW.unique_key,
        missed = NEW.missed, missed_window = CAST(NEW.missed_window * 1000000 AS INTEGER),
        jitter = CAST(NEW.jitter * 1000000 AS INTEGER), paused = NEW.paused, group_key = NEW.group_key,
        key_scope = CAST(round(NEW.key_scope * 1000000) AS INTEGER),
        expires_after = CAST(round(NEW.expires_after * 1000000) AS INTEGER),
        -- What is due stays so, unless it is the times that change; a schedule that had given up begins again.
        next_due = CASE WHEN NEW.queue IS OLD.queue AND NEW.spec IS OLD.spec AND NEW.zone IS OLD.zone AND NEW.paused IS OLD.paused
            AND problem IS NULL THEN next_due END,
        problem = NULL, revision = revision + 1
    WHERE name = OLD.name;
END;
CREATE TRIGGER penstock_schedules_insert_moving INSTEAD OF INSERT ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name = NEW.queue);
END;
CREATE TRIGGER penstock_schedules_update_moving INSTEAD OF UPDATE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name IN (OLD.queue, NEW.queue));
END;
CREATE TRIGGER penstock_schedules_delete_moving INSTEAD OF DELETE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name = OLD.queue);
END;
CREATE TRIGGER penstock_dropped_task AFTER UPDATE OF dropping ON penstock_state WHEN NEW.dropping IS NOT NULL BEGIN
    INSERT INTO penstock_cascade (workflow_id, sequence, after)
        SELECT 0, sequence, 0 FROM penstock_task WHERE sequence = NEW.dropping
        ON CONFLICT (workflow_id, sequence) DO UPDATE SET after = 0;
    DELETE FROM penstock_awaited WHERE sequence = NEW.dropping;
END;
CREATE TRIGGER penstock_queue_grouped AFTER UPDATE OF fifo, limit_per_key ON penstock_queue
WHEN OLD.fifo = 0 AND OLD.limit_per_key IS NULL AND (NEW.fifo OR NEW.limit_per_key IS NOT NULL) BEGIN
    INSERT INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_ready AS ready JOIN penstock_log AS log ON log.sequence = ready.sequence
        WHERE ready.queue_id = NEW.id AND ready.marks & 8 AND log.group_key IS NOT NULL
        UNION ALL SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_lease AS lease JOIN penstock_log AS log ON log.sequence = lease.sequence
        WHERE lease.queue_id = NEW.id AND lease.marks & 8 AND log.group_key IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT DISTINCT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_group_paused AFTER INSERT ON penstock_group_pause BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key) VALUES (NEW.queue_id, NEW.group_key) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_group_resumed AFTER DELETE ON penstock_group_pause BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key) VALUES (OLD.queue_id, OLD.group_key) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_queue_fair AFTER UPDATE OF fair ON penstock_queue WHEN NEW.fair AND NOT OLD.fair BEGIN
    INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_queue_fair_inserted AFTER INSERT ON penstock_queue WHEN NEW.fair BEGIN
    INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_queue_regroup AFTER UPDATE OF fifo, on_dead, limit_per_key ON penstock_queue
WHEN NEW.fifo <> OLD.fifo OR NEW.on_dead <> OLD.on_dead OR NEW.limit_per_key IS NOT OLD.limit_per_key BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL
        ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_queue_key_rate AFTER UPDATE OF key_rate_count, key_rate_period, key_rate_burst ON penstock_queue
WHEN NEW.key_rate_count IS NOT OLD.key_rate_count OR NEW.key_rate_period IS NOT OLD.key_rate_period
    OR NEW.key_rate_burst <> OLD.key_rate_burst BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL
        ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER penstock_message_dropped AFTER UPDATE OF dropping ON penstock_state WHEN NEW.dropping IS NOT NULL BEGIN
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'dropped', 'dropOldest', attempt, now FROM penstock_dropping JOIN penstock_now;
    DELETE FROM penstock_unique
        WHERE (queue_id, unique_key, sequence) = (SELECT queue_id, unique_key, sequence FROM penstock_dropping);
    UPDATE penstock_depth SET kept = kept + 1, dropped_total = dropped_total + 1, (ready, scheduled, blocked)
        = (SELECT ready - is_ready, scheduled - is_scheduled, blocked - is_blocked FROM penstock_dropping)
        WHERE queue_id = (SELECT queue_id FROM penstock_dropping);
    -- It has not started, so its turn is its group's again.
    UPDATE penstock_share SET (again_turn, next_turn) = (SELECT max(0, again_turn - again * step),
            max(max(0, again_turn - again * step), next_turn - step) FROM penstock_dropping)
        WHERE (queue_id, priority, group_key) = (SELECT gone.queue_id, gone.priority, gone.share_key
            FROM penstock_dropping AS gone CROSS JOIN penstock_queue AS queue ON queue.id = gone.queue_id
            WHERE queue.fair AND gone.is_ready);
    DELETE FROM penstock_ready WHERE (queue_id, priority, turn, sequence)
        = (SELECT queue_id, priority, turn, sequence FROM penstock_dropping);
    DELETE FROM penstock_scheduled WHERE sequence = NEW.dropping;
    DELETE FROM penstock_expiry WHERE sequence = NEW.dropping;
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (SELECT queue_id, sequence FROM penstock_dropping);
    -- Its permit goes to the next one of its group, if that is not in order and may start by all that is known without a boot clock.
    UPDATE penstock_permit SET sequence = (SELECT blocked.sequence FROM penstock_blocked AS blocked
            WHERE (blocked.queue_id, blocked.group_key) = (penstock_permit.queue_id, penstock_permit.group_key)
            ORDER BY blocked.priority DESC, blocked.sequence LIMIT 1)
        WHERE (queue_id, group_key, sequence) = (SELECT gone.queue_id, gone.group_key, gone.sequence
            FROM penstock_dropping AS gone CROSS JOIN penstock_queue AS queue ON queue.id = gone.queue_id
            WHERE queue.limit_per_key IS NOT NULL AND queue.key_rate_count IS NULL
            AND NOT EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id
                UNION SELECT 1 FROM penstock_group_rate AS held WHERE (held.queue_id, held.group_key) = (gone.queue_id, gone.group_key)
                UNION SELECT 1 FROM penstock_regroup AS noted WHERE (noted.queue_id, noted.group_key) = (gone.queue_id, gone.group_key)))
        AND EXISTS (SELECT 1 FROM penstock_blocked AS blocked
            WHERE (blocked.queue_id, blocked.group_key) = (penstock_permit.queue_id, penstock_permit.group_key));
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
        SELECT queue_id, priority, turn, sequence, attempt, forgiven, marks FROM penstock_dropped_next;
    UPDATE penstock_depth SET ready = ready + 1, blocked = blocked - 1 WHERE queue_id = (SELECT queue_id FROM penstock_dropped_next);
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (SELECT queue_id, sequence FROM penstock_dropped_next);
    -- Otherwise it is free, and the next claim gives it to another one.
    INSERT INTO penstock_regroup (queue_id, group_key) SELECT queue_id, group_key FROM penstock_permit
        WHERE (queue_id, group_key, sequence) = (SELECT queue_id, group_key, sequence FROM penstock_dropping)
        ON CONFLICT DO NOTHING;
    DELETE FROM penstock_permit
        WHERE (queue_id, group_key, sequence) = (SELECT queue_id, group_key, sequence FROM penstock_dropping);
END;
CREATE TRIGGER penstock_messages_insert INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT CASE
        WHEN NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue)
            THEN RAISE(ABORT, 'penstock: there is no queue of that name')
        WHEN EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND deleting)
            THEN RAISE(ABORT, 'penstock: the queue is being deleted, and takes no messages')
        WHEN NEW.payload IS NULL THEN RAISE(ABORT, 'penstock: payload must be given')
        WHEN length(CAST(NEW.payload AS BLOB)) > 16777216
            THEN RAISE(ABORT, 'penstock: payload has more than 16777216 bytes (payloadBytesMax)')
        WHEN typeof(NEW.priority) NOT IN ('null', 'integer') OR NEW.priority NOT BETWEEN -100 AND 100
            THEN RAISE(ABORT, 'penstock: priority must be an integer from -100 to 100')
        WHEN typeof(NEW.attempts_max) NOT IN ('null', 'integer') OR NEW.attempts_max NOT BETWEEN 1 AND 1000
            THEN RAISE(ABORT, 'penstock: attempts_max must be an integer from 1 to 1000')
        -- 1 to the last microsecond before 2000 is no moment that somebody means.
        WHEN CASE typeof(NEW.due_at) WHEN 'null' THEN 0 WHEN 'integer' THEN NEW.due_at BETWEEN 1 AND 946684799999999
            ELSE typeof(NEW.due_at) <> 'text' OR julianday(NEW.due_at) IS NULL
                OR date(julianday(substr(NEW.due_at, 1, 10))) IS NOT substr(NEW.due_at, 1, 10)
                OR length(NEW.due_at) <> length(CAST(NEW.due_at AS BLOB)) END
            THEN RAISE(ABORT, 'penstock: due_at must be ISO 8601 text or integer microseconds')
        WHEN CASE typeof(NEW.due_at) WHEN 'text' THEN julianday(NEW.due_at) > julianday('now') + 3650
            ELSE NEW.due_at > (SELECT now + 315360000000000 FROM penstock_now) END
            THEN RAISE(ABORT, 'penstock: due_at cannot be more than ten years ahead')
        WHEN CASE typeof(NEW.expires_at) WHEN 'null' THEN 0 WHEN 'integer' THEN NEW.expires_at BETWEEN 1 AND 946684799999999
            ELSE typeof(NEW.expires_at) <> 'text' OR julianday(NEW.expires_at) IS NULL
                OR date(julianday(substr(NEW.expires_at, 1, 10))) IS NOT substr(NEW.expires_at, 1, 10)
                OR length(NEW.expires_at) <> length(CAST(NEW.expires_at AS BLOB)) END
            THEN RAISE(ABORT, 'penstock: expires_at must be ISO 8601 text or integer microseconds')
        WHEN CASE typeof(NEW.expires_at) WHEN 'text' THEN julianday(NEW.expires_at) < julianday('1970-01-01')
            ELSE NEW.expires_at < 0 END
            THEN RAISE(ABORT, 'penstock: expires_at cannot be before 1970')
        WHEN CASE typeof(NEW.expires_at) WHEN 'text' THEN julianday(NEW.expires_at) > julianday('now') + 3650
            ELSE NEW.expires_at > (SELECT now + 315360000000000 FROM penstock_now) END
            THEN RAISE(ABORT, 'penstock: expires_at cannot be more than ten years ahead')
        END;
    -- A message is held to what the messages of a schedule are.
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check VALUES (NEW.queue, NULL, NEW.group_key, NULL, NULL);
    SELECT CASE
        WHEN NEW.key_scope IS NOT NULL AND (NEW.unique_key IS NULL OR typeof(NEW.key_scope) <> 'integer'
            OR NEW.key_scope <> 0 AND NEW.key_scope NOT BETWEEN 1000 AND 31622400000000)
            THEN RAISE(ABORT, 'penstock: key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key')
        WHEN EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_unique AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key WHERE queue.name = NEW.queue)
            THEN RAISE(ABORT, 'penstock: a message with that unique_key waits or runs already')
        WHEN EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_now JOIN penstock_unique_period AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key WHERE queue.name = NEW.queue AND held.until > now)
            THEN RAISE(ABORT, 'penstock: a message with that unique_key holds it still')
        WHEN EXISTS (SELECT 1 FROM penstock_queue JOIN penstock_depth ON queue_id = id
            WHERE name = NEW.queue AND when_full IN ('fail', 'wait') AND ready + blocked + scheduled >= capacity)
            THEN RAISE(ABORT, 'penstock: the queue is full')
        END;

    -- dropOldest, and no room: the oldest waiting message goes. Which one that is, is settled here, once: what carries it out
    -- changes the answer.
    UPDATE penstock_state SET last_sequence = last_sequence + 1, dropping = (
        SELECT oldest.sequence FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id
        JOIN penstock_oldest_waiting AS oldest ON oldest.queue_id = queue.id
        WHERE queue.name = NEW.queue AND queue.when_full = 'dropOldest'
        AND depth.ready + depth.blocked + depth.scheduled >= queue.capacity);
    UPDATE penstock_state SET dropping = NULL WHERE dropping IS NOT NULL;

    INSERT INTO penstock_log
        (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key, group_key, key_scope, expires_at, headers,
        payload)
        SELECT last_sequence, queue.id, now, coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, NEW.group_key,
            NEW.key_scope, CASE
            WHEN typeof(NEW.expires_at) = 'integer' THEN NEW.expires_at
            WHEN instr(NEW.expires_at, '.') = 0 THEN CAST(strftime('%s', NEW.expires_at) AS INTEGER) * 1000000
            ELSE CAST(strftime('%s', substr(NEW.expires_at, 1, instr(NEW.expires_at, '.') - 1)
                    || ltrim(substr(NEW.expires_at, instr(NEW.expires_at, '.') + 1), '0123456789')) AS INTEGER) * 1000000
                + CAST(round(CAST('0.' || substr(NEW.expires_at, instr(NEW.expires_at, '.') + 1, 6) AS REAL) * 1000000)
                    AS INTEGER)
            END,
            nullif((SELECT json_group_object(key, value)
                FROM (SELECT key, value FROM json_each(NEW.headers) ORDER BY key)), '{}'),
            CAST(NEW.payload AS BLOB)
        FROM penstock_state, penstock_now, penstock_queue AS queue WHERE queue.name = NEW.queue;
    -- Text has its fraction of a second read to the microsecond, which SQLite's own functions do not.
    INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
        SELECT sequence, queue_id, due, priority, 0, 0, marks FROM penstock_arrived JOIN (SELECT CASE
            WHEN typeof(NEW.due_at) = 'integer' THEN NEW.due_at
            WHEN instr(NEW.due_at, '.') = 0 THEN CAST(strftime('%s', NEW.due_at) AS INTEGER) * 1000000
            ELSE CAST(strftime('%s', substr(NEW.due_at, 1, instr(NEW.due_at, '.') - 1)
                    || ltrim(substr(NEW.due_at, instr(NEW.due_at, '.') + 1), '0123456789')) AS INTEGER) * 1000000
                + CAST(round(CAST('0.' || substr(NEW.due_at, instr(NEW.due_at, '.') + 1, 6) AS REAL) * 1000000)
                    AS INTEGER)
            END AS due) WHERE due > enqueued_at;
    SELECT RAISE(ABORT, 'penstock: the message would expire before it is due, and never start')
        FROM penstock_arrived AS log JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
        WHERE log.expires_at <= scheduled.due_at;

    -- dropNewest, and no room: the arriving message goes on record, and no further.
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT penstock_queue.id, last_sequence, 'dropped', 'dropNewest', 0, now
        FROM penstock_state, penstock_now, penstock_queue JOIN penstock_depth ON queue_id = penstock_queue.id
        WHERE name = NEW.queue AND when_full = 'dropNewest' AND ready + blocked + scheduled >= capacity;
    DELETE FROM penstock_scheduled WHERE sequence = (SELECT last_sequence FROM penstock_state)
        AND NOT EXISTS (SELECT 1 FROM penstock_arrived);

    -- The row of a period that is over goes when somebody has the key again: no clock that is set back gives it a second holder.
    DELETE FROM penstock_unique_period
        WHERE (queue_id, unique_key) = (SELECT queue_id, unique_key FROM penstock_arrived);
    INSERT INTO penstock_unique_period (queue_id, unique_key, sequence, until)
        SELECT queue_id, unique_key, sequence, enqueued_at + key_scope FROM penstock_arrived
        WHERE unique_key IS NOT NULL AND key_scope > 0;
    INSERT INTO penstock_expiry (sequence, queue_id, expires_at)
        SELECT sequence, queue_id, expires_at FROM penstock_arrived WHERE expires_at IS NOT NULL;
    INSERT INTO penstock_unique (queue_id, unique_key, sequence)
        SELECT queue_id, unique_key, sequence FROM penstock_arrived
        WHERE unique_key IS NOT NULL AND ifnull(key_scope, 0) = 0;
    -- A message of a group that takes no permit is blocked: its group is paused, has none left, or others wait for one.
    INSERT INTO penstock_blocked (queue_id, group_key, priority, sequence, attempt, forgiven, marks)
        SELECT log.queue_id, log.group_key, log.priority, log.sequence, 0, 0, log.marks
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        WHERE log.group_key IS NOT NULL AND (queue.fifo OR queue.limit_per_key IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM penstock_scheduled AS scheduled WHERE scheduled.sequence = log.sequence)
        AND (EXISTS (SELECT 1 FROM penstock_group_pause AS pause
                WHERE pause.queue_id = log.queue_id AND pause.group_key = log.group_key)
            OR EXISTS (SELECT 1 FROM penstock_blocked AS other
                WHERE other.queue_id = log.queue_id AND other.group_key = log.group_key)
            OR (SELECT count(*) FROM penstock_permit AS permit
                WHERE permit.queue_id = log.queue_id AND permit.group_key = log.group_key)
                >= CASE WHEN queue.fifo THEN 1 ELSE queue.limit_per_key END
            -- No boot clock is to be had here. The next claim sees whether it may start.
            OR queue.key_rate_count IS NOT NULL
            OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
                WHERE held.queue_id = log.queue_id AND held.group_key = log.group_key));
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT log.queue_id, log.group_key FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence
        WHERE queue.key_rate_count IS NOT NULL OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
            WHERE held.queue_id = log.queue_id AND held.group_key = log.group_key)
        ON CONFLICT DO NOTHING;
    -- In a queue that is shared fairly, a message that is ready has the later of two turns: the one that was claimed last, and the
    -- one behind its group's last message. In one that was shared it comes behind all that have a turn.
    UPDATE penstock_log SET turn = (SELECT max(
            coalesce((SELECT fair.turn FROM penstock_fair AS fair
                WHERE (fair.queue_id, fair.priority) = (log.queue_id, log.priority)), 1),
            CASE WHEN queue.fair THEN coalesce((SELECT next_turn FROM penstock_share AS share
                WHERE (share.queue_id, share.priority, share.group_key) = (log.queue_id, log.priority, log.share_key)), 0)
            ELSE coalesce((SELECT ready.turn FROM penstock_ready AS ready
                WHERE (ready.queue_id, ready.priority) = (log.queue_id, log.priority)
                ORDER BY ready.turn DESC, ready.sequence DESC LIMIT 1), 0) END)
            FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id)
        WHERE sequence = (SELECT log.sequence FROM penstock_arrived AS log WHERE log.is_ready
            AND EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = log.queue_id));
    INSERT INTO penstock_share (queue_id, priority, group_key, next_turn, again_turn)
        SELECT log.queue_id, log.priority, log.share_key, log.turn + log.step, 0
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id WHERE queue.fair AND log.is_ready
        ON CONFLICT (queue_id, priority, group_key) DO UPDATE SET next_turn = excluded.next_turn;
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
        SELECT queue_id, priority, turn, sequence, 0, 0, marks FROM penstock_arrived WHERE is_ready;
    INSERT INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        WHERE log.is_ready AND log.group_key IS NOT NULL AND (queue.fifo OR queue.limit_per_key IS NOT NULL);

    UPDATE penstock_depth SET
        enqueued_total = enqueued_total + 1,
        scheduled = scheduled + EXISTS (SELECT 1 FROM penstock_scheduled
            WHERE sequence = (SELECT last_sequence FROM penstock_state)),
        ready = ready + EXISTS (SELECT 1 FROM penstock_arrived WHERE is_ready),
        blocked = blocked + EXISTS (SELECT 1 FROM penstock_arrived AS log JOIN penstock_blocked AS held
            ON held.queue_id = log.queue_id AND held.sequence = log.sequence),
        kept = kept + NOT EXISTS (SELECT 1 FROM penstock_arrived),
        dropped_total = dropped_total + NOT EXISTS (SELECT 1 FROM penstock_arrived)
        WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue);
END;
CREATE TRIGGER penstock_deleted_queue_cursors AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_cursor WHERE queue_id = OLD.id;
END;
CREATE VIEW penstock_cursors AS
SELECT
    queue.name AS queue,
    cursor.name AS cursor,
    cursor.sequence,
    (SELECT count(*) FROM penstock_log AS log
        WHERE log.queue_id = cursor.queue_id AND log.sequence > cursor.sequence) AS ahead,
    cursor.missed,
    cursor.note,
    strftime('%Y-%m-%dT%H:%M:%S', cursor.moved_at / 1000000, 'unixepoch')
        || printf('.%06dZ', cursor.moved_at % 1000000) AS moved_at
FROM penstock_cursor AS cursor
JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
WHERE substr(cursor.name, 1, 11) <> 'amazon-sqs.';

INSERT INTO penstock_migration VALUES (1, 'log', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (2, 'line', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (3, 'workers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (4, 'views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (5, 'insert', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (6, 'cursor', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (7, 'handover', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (8, 'deletion', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (9, 'answers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (10, 'quarantine', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (11, 'schedules', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (12, 'pending', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (13, 'workflows', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (14, 'groups', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (15, 'group_insert', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (16, 'group_views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (17, 'running', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (18, 'turns', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (19, 'starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (20, 'start_views', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (21, 'start_insert', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (22, 'schedule_starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (23, 'rates', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (24, 'remote_workers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (25, 'group_starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (26, 'inspecting', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (27, 'latencies', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (28, 'copy', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (29, 'inserts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (30, 'checks', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (31, 'moved_schedules', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (32, 'conflicts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_migration VALUES (33, 'log_readers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
INSERT INTO penstock_state VALUES (1, 0, 0, 0, NULL, NULL);
