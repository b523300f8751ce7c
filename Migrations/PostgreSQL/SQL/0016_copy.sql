-- Moving house: queues that are copied into another store, and that come from one (`penstock copy`).

-- Where this store's queues go, if they go. While it says so nothing is accepted, claimed or changed here: each transaction reads
-- this row anyway.
--   draining: what workers have may be settled, and nothing else be done
--   copying:  the rows do not change, and are read
--   moved:    another store has them
ALTER TABLE penstock_state ADD COLUMN moving TEXT COLLATE "C" CHECK (moving IN ('draining', 'copying', 'moved'));

-- A number is given for each message that is accepted, by whatever program and release; while it is draining they come along. A jump, after a crash, accepts none.
CREATE FUNCTION penstock_moving() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store';
END $$;
CREATE TRIGGER penstock_moving BEFORE UPDATE OF last_sequence ON penstock_state FOR EACH ROW
    WHEN (OLD.moving <> 'draining' AND NEW.last_sequence BETWEEN OLD.last_sequence + 1 AND OLD.last_sequence + 999999999)
    EXECUTE FUNCTION penstock_moving();

-- Which store this is, and the move that has begun here. One row, once anything was copied from here or to here.
CREATE TABLE penstock_store (
    id            BIGINT PRIMARY KEY CHECK (id = 1),
    -- By chance; nothing else of a store tells it from a copy.
    store_id      TEXT COLLATE "C" NOT NULL,
    -- The move, by chance as well: a move that was cancelled and begun anew is another one.
    move_id       TEXT COLLATE "C",
    -- The store to which the queues go: as people are told of it, without a password, and its store_id.
    moved_to      TEXT COLLATE "C",
    moved_to_id   TEXT COLLATE "C",
    -- How this store was called by the move.
    moved_from    TEXT COLLATE "C",
    moving_since  BIGINT
);

-- Moves that came here, or are coming.
CREATE TABLE penstock_arrival (
    move_id         TEXT COLLATE "C" PRIMARY KEY,
    source_id       TEXT COLLATE "C" NOT NULL,
    -- The store from which the messages came, as people are told of it.
    source          TEXT COLLATE "C" NOT NULL,
    -- A message's number here is by so much higher than it was there. Those that came have numbers between the two.
    sequence_offset BIGINT NOT NULL,
    first_sequence  BIGINT NOT NULL,
    last_sequence   BIGINT NOT NULL,
    -- Whether what has ended came as well.
    with_log        BIGINT NOT NULL CHECK (with_log IN (0, 1)),
    -- How far it has come: the tables are taken one after the other, and of the messages those up to this number of the source's.
    stage           BIGINT NOT NULL,
    place           BIGINT NOT NULL,
    begun_at        BIGINT NOT NULL,
    -- NULL: it is not finished.
    finished_at     BIGINT
) WITH (fillfactor = 70);

-- Queues that are coming. Until all is there their rows say `deleting` as well: nothing is accepted or claimed, by whatever release.
CREATE TABLE penstock_arriving (
    queue_id        BIGINT PRIMARY KEY,
    move_id         TEXT COLLATE "C" NOT NULL,
    source_queue_id BIGINT NOT NULL
);

CREATE FUNCTION penstock_arriving_deleted() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    DELETE FROM penstock_arriving WHERE queue_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER penstock_queue_deleted_arriving AFTER DELETE ON penstock_queue
    FOR EACH ROW EXECUTE FUNCTION penstock_arriving_deleted();

-- Which message of which store each was that came from another one.
CREATE VIEW penstock_origins AS
SELECT log.sequence, queue.name AS queue, arrival.source, log.sequence - arrival.sequence_offset AS source_sequence
FROM penstock_arrival AS arrival
JOIN penstock_log AS log ON log.sequence BETWEEN arrival.first_sequence AND arrival.last_sequence
JOIN penstock_queue AS queue ON queue.id = log.queue_id;

INSERT INTO penstock_migration VALUES (16, 'copy', penstock_now() / 1000000 * 1000000);
