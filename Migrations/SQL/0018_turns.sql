-- The order in which the groups of a queue have their turn, where they share its workers fairly.

-- Which turn a message has: lower ones are claimed first, among those of one priority. 0: it was accepted by a queue that is
-- not shared fairly. Given as the message is accepted, and kept.
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

-- Queues that are shared fairly, or were. Start-time fair queueing (Goyal, Vin and Cheng, 1996): a message has the later of two
-- turns, the one that was claimed last and the one behind its group's last message.
CREATE TABLE penstock_fair (
    queue_id  INTEGER PRIMARY KEY,
    -- The turn that was claimed last.
    turn      INTEGER NOT NULL,
    -- The highest that was given. Those that come when the queue is shared no more have this one: they come last.
    last_turn INTEGER NOT NULL
) STRICT;
-- What a group has had, and how much it weighs. A group that weighs 1 and has had no more than others has no row.
CREATE TABLE penstock_share (
    queue_id  INTEGER NOT NULL,
    -- Empty: all messages without a group.
    group_key TEXT    NOT NULL,
    weight    INTEGER NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
    -- The turn behind its last message.
    next_turn INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_share_passed ON penstock_share (queue_id, next_turn) WHERE weight = 1;
CREATE TRIGGER penstock_queue_fair AFTER UPDATE OF fair ON penstock_queue WHEN NEW.fair AND NOT OLD.fair BEGIN
    INSERT OR IGNORE INTO penstock_fair (queue_id, turn, last_turn) VALUES (NEW.id, 1, 1);
END;
CREATE TRIGGER penstock_queue_fair_inserted AFTER INSERT ON penstock_queue WHEN NEW.fair BEGIN
    INSERT OR IGNORE INTO penstock_fair (queue_id, turn, last_turn) VALUES (NEW.id, 1, 1);
END;

INSERT INTO penstock_migration VALUES (18, 'turns', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
