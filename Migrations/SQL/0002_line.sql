-- The line: where each message is. A message has one row in exactly one of these four tables, and moving it
-- from table to table is its life:  scheduled -> ready -> lease -> outcome.
-- The tables lie apart so that a claim looks at ready messages only: a million scheduled or finished ones
-- cost it nothing.
--
-- attempt:  attempts begun so far.
-- forgiven: attempts that no longer count, because the message was redriven after them.
-- keyed:    1 when the message holds a unique key, so that others are spared the look.

CREATE TABLE penstock_scheduled (
    sequence INTEGER PRIMARY KEY,
    queue_id INTEGER NOT NULL,
    due_at   INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    keyed    INTEGER NOT NULL
) STRICT;
CREATE INDEX penstock_scheduled_due ON penstock_scheduled (queue_id, due_at);

-- The key is the order in which messages are claimed.
CREATE TABLE penstock_ready (
    queue_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    keyed    INTEGER NOT NULL,
    PRIMARY KEY (queue_id, priority DESC, sequence)
) STRICT, WITHOUT ROWID;

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
    keyed      INTEGER NOT NULL
) STRICT;

CREATE TABLE penstock_outcome (
    queue_id    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('done', 'dead', 'dropped', 'cancelled')),
    reason      TEXT,
    attempt     INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) STRICT, WITHOUT ROWID;
-- What retention asks for: which messages ended before a moment. Not the head of the log: a few thousand messages
-- that were accepted early and ended late would keep everything behind them.
CREATE INDEX penstock_outcome_ended ON penstock_outcome (queue_id, finished_at) WHERE state <> 'dead';
CREATE INDEX penstock_outcome_died ON penstock_outcome (queue_id, finished_at) WHERE state = 'dead';
-- What people ask for: dead letters and drops, in the order of the log.
CREATE INDEX penstock_outcome_dead ON penstock_outcome (queue_id, sequence) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dropped ON penstock_outcome (queue_id, sequence) WHERE state = 'dropped';

-- Which message that waits or runs has a key.
CREATE TABLE penstock_unique (
    queue_id   INTEGER NOT NULL,
    unique_key TEXT    NOT NULL,
    sequence   INTEGER NOT NULL,
    PRIMARY KEY (queue_id, unique_key)
) STRICT, WITHOUT ROWID;

INSERT INTO penstock_migration VALUES (2, 'line', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
