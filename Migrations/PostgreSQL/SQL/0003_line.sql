-- The line: where each message is. A message has one row in exactly one of these six tables, and moving it from table to table is
-- its life:  pending -> scheduled -> blocked -> ready -> lease -> outcome.
-- The tables lie apart so that a claim looks at ready messages only: a million scheduled or finished ones cost it nothing.
--
-- attempt:  attempts begun so far.
-- forgiven: attempts that no longer count, because the message was redriven after them.
-- marks:    what else has rows about it, so that others are spared a look:
--     1  it holds a unique key
--     2  it is a task of a workflow, whose end others may wait for
--     4  it waits for an event, and has a row in penstock_awaited
--     8  it has a group
--    16  it expires, and has a row in penstock_expiry unless a worker has it
--    32  it holds its unique key only while it waits
--    64  its worker is asked to end, and it has a row in penstock_cancel
--   128  somebody waits for its end, and its log is rung for then
--   256  its worker says how far it has come, and it has a row in penstock_progress
--   512  it is blocked, and goes first of its group, which is in order: it had the permit, and its work has begun
--
-- Rows come and go, and a table of a few rows is soon one of many dead ones, which every claim would pass over. So they are cleaned
-- up by how many are dead, not by which part of the table, and without a pause.

-- Messages that wait for other messages. They take no room in their queue.
CREATE TABLE penstock_pending (
    queue_id BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    attempt  BIGINT NOT NULL,
    forgiven BIGINT NOT NULL,
    marks    BIGINT NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE penstock_scheduled (
    sequence BIGINT PRIMARY KEY,
    queue_id BIGINT NOT NULL,
    due_at   BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    attempt  BIGINT NOT NULL,
    forgiven BIGINT NOT NULL,
    marks    BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_scheduled_due ON penstock_scheduled (queue_id, due_at, sequence);

-- Messages that wait for a permit of their group. They take room in their queue.
CREATE TABLE penstock_blocked (
    queue_id  BIGINT NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    priority  BIGINT NOT NULL,
    sequence  BIGINT NOT NULL,
    attempt   BIGINT NOT NULL,
    forgiven  BIGINT NOT NULL,
    marks     BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
-- The table's key. A primary key of PostgreSQL's has no descending columns, and a second index would only cost.
CREATE UNIQUE INDEX penstock_blocked_order ON penstock_blocked (queue_id, group_key, priority DESC, sequence);
CREATE UNIQUE INDEX penstock_blocked_sequence ON penstock_blocked (queue_id, sequence);
ALTER TABLE penstock_blocked REPLICA IDENTITY USING INDEX penstock_blocked_sequence;
CREATE INDEX penstock_blocked_first ON penstock_blocked (queue_id, group_key, sequence) WHERE marks & 512 <> 0;

CREATE TABLE penstock_ready (
    queue_id    BIGINT NOT NULL,
    priority    BIGINT NOT NULL,
    turn        BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,
    forgiven    BIGINT NOT NULL,
    marks       BIGINT NOT NULL,
    -- When a message became ready last; NULL: as it was accepted, and its enqueued_at tells.
    ready_since BIGINT
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
-- The table's key, which is the order in which messages are claimed.
CREATE UNIQUE INDEX penstock_ready_order ON penstock_ready (queue_id, priority DESC, turn, sequence);
ALTER TABLE penstock_ready REPLICA IDENTITY USING INDEX penstock_ready_order;
-- What people ask for, and the oldest message: rows with a turn do not lie in the order of the log.
CREATE INDEX penstock_ready_sequence ON penstock_ready (queue_id, sequence) WHERE turn <> 0;
CREATE INDEX penstock_ready_since ON penstock_ready (queue_id, ready_since) WHERE ready_since IS NOT NULL;

CREATE TABLE penstock_lease (
    sequence   BIGINT PRIMARY KEY,
    queue_id   BIGINT NOT NULL,
    -- New with every claim: who settles must show it.
    token      BIGINT NOT NULL,
    worker_id  BIGINT NOT NULL,
    claimed_at BIGINT NOT NULL,
    -- Microseconds on the boot clock of the worker's boot, not on the wall clock.
    deadline   BIGINT NOT NULL,
    priority   BIGINT NOT NULL,
    attempt    BIGINT NOT NULL,
    forgiven   BIGINT NOT NULL,
    marks      BIGINT NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);

CREATE TABLE penstock_outcome (
    queue_id    BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('done', 'dead', 'dropped', 'cancelled')),
    reason      TEXT COLLATE "C",
    attempt     BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
-- What retention asks for: which messages ended before a moment. Not the head of the log: a few thousand messages
-- that were accepted early and ended late would keep everything behind them.
CREATE INDEX penstock_outcome_ended ON penstock_outcome (queue_id, finished_at, sequence) WHERE state <> 'dead';
CREATE INDEX penstock_outcome_died ON penstock_outcome (queue_id, finished_at, sequence) WHERE state = 'dead';
-- What people ask for: dead letters and drops, in the order of the log.
CREATE INDEX penstock_outcome_dead ON penstock_outcome (queue_id, sequence) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dropped ON penstock_outcome (queue_id, sequence) WHERE state = 'dropped';

-- Which message that waits or runs has a key.
CREATE TABLE penstock_unique (
    queue_id   BIGINT NOT NULL,
    unique_key TEXT COLLATE "C" NOT NULL,
    sequence   BIGINT NOT NULL,
    -- When the first of those was accepted that were replaced one by the other, ending with this. NULL: nothing was replaced.
    since      BIGINT,
    PRIMARY KEY (queue_id, unique_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Keys that are held for a period, whatever becomes of their messages.
CREATE TABLE penstock_unique_period (
    queue_id   BIGINT NOT NULL,
    unique_key TEXT COLLATE "C" NOT NULL,
    sequence   BIGINT NOT NULL,
    -- The key is free from then on.
    until      BIGINT NOT NULL,
    since      BIGINT,
    PRIMARY KEY (queue_id, unique_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_unique_period_until ON penstock_unique_period (queue_id, until);

-- Messages in line that expire. One that a worker has goes on; its row comes back with the message.
CREATE TABLE penstock_expiry (
    sequence   BIGINT PRIMARY KEY,
    queue_id   BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_expiry_first ON penstock_expiry (queue_id, expires_at, sequence);

INSERT INTO penstock_migration VALUES (3, 'line', penstock_now() / 1000000 * 1000000);
