-- Workflows: which message waits for which. And what a message leaves behind on its way: results, steps, events.

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

-- The message `child` waits for the message `parent`. Checks without IN: SQLite makes a table of its list for each statement,
-- which costs more than the row.
CREATE TABLE penstock_dependency (
    parent    INTEGER NOT NULL,
    child     INTEGER NOT NULL,
    need      TEXT    NOT NULL CHECK (need = 'done' OR need = 'ended'),
    -- Where the need is 'done': what becomes of the child when the parent is a dead letter.
    when_dead TEXT    NOT NULL CHECK (when_dead = 'cancel' OR when_dead = 'hold'),
    state     TEXT    NOT NULL CHECK (state = 'open' OR state = 'met' OR state = 'failed'),
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
-- Whether a child still waits, or for what it cannot wait any more.
CREATE INDEX penstock_dependency_child ON penstock_dependency (child, state);

-- What a transaction left to be done, because many wait for one message. A row is made in the transaction in which that message
-- ended or came back, and goes in the one in which the last dependency agrees with it again. Any process goes on with it.
CREATE TABLE penstock_cascade (
    -- The workflow that is cancelled, and whose open tasks are gone through; or the message whose children are. The other
    -- number is 0. With sequence -1: the workflow that an event came to, and whose tasks are gone through that wait for it.
    workflow_id INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    -- The last one that was looked at.
    after       INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, sequence)
) STRICT, WITHOUT ROWID;

-- A plain INSERT into a full queue drops a task: it has ended, and others may wait for it.
CREATE TRIGGER penstock_task_dropped AFTER UPDATE OF dropping ON penstock_state WHEN NEW.dropping IS NOT NULL BEGIN
    INSERT OR REPLACE INTO penstock_cascade (workflow_id, sequence, after)
        SELECT 0, sequence, 0 FROM penstock_task WHERE sequence = NEW.dropping;
    DELETE FROM penstock_awaited WHERE sequence = NEW.dropping;
END;

-- What a message gave when it was done.
CREATE TABLE penstock_result (
    sequence INTEGER PRIMARY KEY,
    result   BLOB    NOT NULL
) STRICT;

-- Steps of handlers that are over. Written once.
CREATE TABLE penstock_step (
    sequence    INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    -- 1, 2, 3, ... in the order in which they were recorded.
    position    INTEGER NOT NULL,
    result      BLOB    NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (sequence, name)
) STRICT, WITHOUT ROWID;

-- Events from outside: of one message, or of a workflow. The other number is 0. Written once.
CREATE TABLE penstock_event (
    workflow_id INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    payload     BLOB    NOT NULL,
    emitted_at  INTEGER NOT NULL,
    PRIMARY KEY (workflow_id, sequence, name)
) STRICT, WITHOUT ROWID;

-- A scheduled message that goes on when an event of that name comes, if that is before it is due.
CREATE TABLE penstock_awaited (
    sequence    INTEGER PRIMARY KEY,
    -- 0: it is no task.
    workflow_id INTEGER NOT NULL,
    name        TEXT    NOT NULL
) STRICT;
CREATE INDEX penstock_awaited_workflow ON penstock_awaited (workflow_id, name);

-- Public, as the views of 0004_views.sql: names and columns stay.
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

CREATE VIEW penstock_workflows AS
SELECT
    workflow,
    CASE
        WHEN scheduled + ready + leased > 0 THEN 'running'
        WHEN pending > 0 THEN 'held'
        WHEN cancelled_at IS NOT NULL THEN 'cancelled'
        WHEN dead + dropped + cancelled > 0 THEN 'failed'
        ELSE 'done'
    END AS state,
    started_at,
    cancelled_at,
    tasks, pending, scheduled, ready, leased, done, dead, dropped, cancelled
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

INSERT INTO penstock_migration VALUES (13, 'workflows', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
