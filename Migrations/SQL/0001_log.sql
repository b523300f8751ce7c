-- The log: every message that was accepted, in order, written once and never rewritten.
-- What happens to a message moves narrow rows in other tables; see 0002_line.sql.
--
-- By hand: sqlite3 new.db 'PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;' and then each
-- file of this folder in order: sqlite3 -bail new.db < 0001_log.sql ...
-- Times are integer microseconds since 1970-01-01T00:00:00Z.

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
    retain_dead_age INTEGER CHECK (retain_dead_age BETWEEN 0 AND 315360000000000),
    CHECK ((capacity IS NULL) = (when_full IS NULL))
) STRICT;

-- How many messages of a queue are in each state, and how often each thing has happened. Kept once per
-- transaction, not per message, so that depths, capacities and status cost no count.
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
) STRICT;

-- One row.
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
) STRICT;
INSERT INTO penstock_state (id, last_sequence, policy_version) VALUES (1, 0, 0);

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
) STRICT;

-- One queue's part of the log, in order.
CREATE INDEX penstock_log_queue ON penstock_log (queue_id);

INSERT INTO penstock_migration VALUES (1, 'log', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
