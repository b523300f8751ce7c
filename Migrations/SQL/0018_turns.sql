-- The order in which the groups of a queue have their turn, where they share its workers fairly.

-- Which turn a message has that is ready: lower ones are claimed first, among those of one priority. 0: its queue was not shared
-- fairly when it became ready, or it never was.
ALTER TABLE penstock_log ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;

-- As in 0002_line.sql, with the turn. SQLite cannot change a table's key, so the table is made anew.
CREATE TEMP TABLE moved_ready AS SELECT queue_id, priority, sequence, attempt, forgiven, marks FROM penstock_ready;
DROP TABLE penstock_ready;
CREATE TABLE penstock_ready (
    queue_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    turn     INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    forgiven INTEGER NOT NULL,
    marks    INTEGER NOT NULL,
    PRIMARY KEY (queue_id, priority DESC, turn, sequence)
) STRICT, WITHOUT ROWID;
-- What people ask for, and the oldest message: rows with a turn do not lie in the order of the log.
CREATE INDEX penstock_ready_sequence ON penstock_ready (queue_id, sequence) WHERE turn <> 0;
INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
    SELECT queue_id, priority, 0, sequence, attempt, forgiven, marks FROM moved_ready
    ORDER BY queue_id, priority DESC, sequence;
DROP TABLE moved_ready;

-- As in 0002_line.sql, but for the check of the state: SQLite makes a table of a list for each statement that writes a row, and
-- comparisons cost nothing.
CREATE TEMP TABLE moved_outcome AS SELECT queue_id, sequence, state, reason, attempt, finished_at FROM penstock_outcome;
DROP TABLE penstock_outcome;
CREATE TABLE penstock_outcome (
    queue_id    INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    state       TEXT    NOT NULL CHECK (state = 'done' OR state = 'dead' OR state = 'dropped' OR state = 'cancelled'),
    reason      TEXT,
    attempt     INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
    SELECT queue_id, sequence, state, reason, attempt, finished_at FROM moved_outcome ORDER BY queue_id, sequence;
DROP TABLE moved_outcome;
CREATE INDEX penstock_outcome_ended ON penstock_outcome (queue_id, finished_at) WHERE state <> 'dead';
CREATE INDEX penstock_outcome_died ON penstock_outcome (queue_id, finished_at) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dead ON penstock_outcome (queue_id, sequence) WHERE state = 'dead';
CREATE INDEX penstock_outcome_dropped ON penstock_outcome (queue_id, sequence) WHERE state = 'dropped';

ALTER TABLE penstock_queue ADD COLUMN fair INTEGER NOT NULL DEFAULT 0 CHECK (fair = 0 OR fair = 1);

-- Queues that are shared fairly, or were: each priority by itself. Start-time fair queueing (Goyal, Vin and Cheng, 1996): as it
-- becomes ready, a message has the later of two turns, the one that was claimed last and the one behind its group's last message.
CREATE TABLE penstock_fair (
    queue_id INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    -- The turn that was claimed last. A priority without a row: 1.
    turn     INTEGER NOT NULL CHECK (turn BETWEEN 1 AND 4611686018427387903),
    PRIMARY KEY (queue_id, priority)
) STRICT, WITHOUT ROWID;
-- What a group has had. One that has had no more than others has no row.
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
-- How much the groups weigh that do not weigh 1.
CREATE TABLE penstock_weight (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    weight    INTEGER NOT NULL CHECK (weight BETWEEN 2 AND 1000),
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
-- This row tells that messages of the queue may have turns.
CREATE TRIGGER penstock_queue_fair AFTER UPDATE OF fair ON penstock_queue WHEN NEW.fair AND NOT OLD.fair BEGIN
    INSERT OR IGNORE INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1);
END;
CREATE TRIGGER penstock_queue_fair_inserted AFTER INSERT ON penstock_queue WHEN NEW.fair BEGIN
    INSERT OR IGNORE INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1);
END;

INSERT INTO penstock_migration VALUES (18, 'turns', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
