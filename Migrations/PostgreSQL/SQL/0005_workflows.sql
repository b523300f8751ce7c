-- Workflows: which message waits for which. And what a message leaves behind on its way: results, steps, events.

CREATE TABLE penstock_workflow (
    -- The sequence number of its first task, so that none is used twice.
    id           BIGINT PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(name) BETWEEN 1 AND 200),
    started_at   BIGINT NOT NULL,
    cancelled_at BIGINT
);

CREATE TABLE penstock_task (
    -- Its message.
    sequence    BIGINT PRIMARY KEY,
    workflow_id BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 200),
    -- Of one that waits for others: it is not due before this moment, and not before so many microseconds have passed since it
    -- waits no more. NULL: at once. Here and not with the message in line, as it may be cancelled and wait again.
    due_at      BIGINT,
    delay       BIGINT CHECK (delay BETWEEN 0 AND 315360000000000),
    UNIQUE (workflow_id, name)
);
CREATE INDEX penstock_task_workflow ON penstock_task (workflow_id, sequence);

-- The message `child` waits for the message `parent`.
CREATE TABLE penstock_dependency (
    parent    BIGINT NOT NULL,
    child     BIGINT NOT NULL,
    need      TEXT COLLATE "C" NOT NULL CHECK (need IN ('done', 'ended')),
    -- Where the need is 'done': what becomes of the child when the parent is a dead letter.
    when_dead TEXT COLLATE "C" NOT NULL CHECK (when_dead IN ('cancel', 'hold')),
    state     TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'met', 'failed')),
    PRIMARY KEY (parent, child)
);
-- Whether a child still waits, or for what it cannot wait any more.
CREATE INDEX penstock_dependency_child ON penstock_dependency (child, state, parent);

-- What a transaction left to be done, because many wait for one message. A row is made in the transaction in which that message
-- ended or came back, and goes in the one in which the last dependency agrees with it again. Any process goes on with it.
CREATE TABLE penstock_cascade (
    -- The workflow that is cancelled, and whose open tasks are gone through; or the message whose children are. The other
    -- number is 0. With sequence -1: the workflow that an event came to, and whose tasks are gone through that wait for it.
    workflow_id BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    -- The last one that was looked at.
    after       BIGINT NOT NULL,
    PRIMARY KEY (workflow_id, sequence)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);

-- What a message gave when it was done.
CREATE TABLE penstock_result (
    sequence BIGINT PRIMARY KEY,
    result   BYTEA NOT NULL
);

-- Steps of handlers that are over. Written once.
CREATE TABLE penstock_step (
    sequence    BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 200),
    -- 1, 2, 3, ... in the order in which they were recorded.
    position    BIGINT NOT NULL,
    result      BYTEA NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (sequence, name)
);

-- Events from outside: of one message, or of a workflow. The other number is 0. Written once.
CREATE TABLE penstock_event (
    workflow_id BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 200),
    payload     BYTEA NOT NULL,
    emitted_at  BIGINT NOT NULL,
    PRIMARY KEY (workflow_id, sequence, name)
);

-- A scheduled message that goes on when an event of that name comes, if that is before it is due.
CREATE TABLE penstock_awaited (
    sequence    BIGINT PRIMARY KEY,
    -- 0: it is no task.
    workflow_id BIGINT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_awaited_workflow ON penstock_awaited (workflow_id, name, sequence);

INSERT INTO penstock_migration VALUES (5, 'workflows', penstock_now() / 1000000 * 1000000);
