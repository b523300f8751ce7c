-- Moving house: queues that are copied into another store, and that come from one (`penstock copy`).

-- Where this store's queues go, if they go. While it says so nothing is accepted, claimed or changed here: each transaction reads
-- this row anyway.
--   draining: what workers have may be settled, and nothing else be done
--   copying:  the rows do not change, and are read
--   moved:    another store has them
ALTER TABLE penstock_state ADD COLUMN moving TEXT CHECK (moving IN ('draining', 'copying', 'moved'));

-- A number is given for each message that is accepted, by whatever program and release; while it is draining they come along. A jump, by a restore or a repair, accepts none.
CREATE TRIGGER penstock_moving BEFORE UPDATE OF last_sequence ON penstock_state
WHEN OLD.moving <> 'draining' AND NEW.last_sequence BETWEEN OLD.last_sequence + 1 AND OLD.last_sequence + 999999999 BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store');
END;

-- Which store this is, and the move that has begun here. One row, once anything was copied from here or to here.
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

-- Moves that came here, or are coming.
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

-- Queues that are coming. Until all is there their rows say `deleting` as well: nothing is accepted or claimed, by whatever release.
CREATE TABLE penstock_arriving (
    queue_id        INTEGER PRIMARY KEY,
    move_id         TEXT    NOT NULL,
    source_queue_id INTEGER NOT NULL
) STRICT;

CREATE TRIGGER penstock_queue_deleted_arriving AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_arriving WHERE queue_id = OLD.id;
END;

-- Which message of which store each was that came from another one.
CREATE VIEW penstock_origins AS
SELECT log.sequence, queue.name AS queue, arrival.source, log.sequence - arrival.sequence_offset AS source_sequence
FROM penstock_arrival AS arrival
JOIN penstock_log AS log ON log.sequence BETWEEN arrival.first_sequence AND arrival.last_sequence
JOIN penstock_queue AS queue ON queue.id = log.queue_id;

INSERT INTO penstock_migration VALUES (28, 'copy', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
