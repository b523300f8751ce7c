-- What the store has to know of the server it is on, and of the processes that write.

-- Which life of a server this is. The table has no log, so the server empties it when it recovers from a crash, and a standby that
-- is promoted has none of its rows.
CREATE UNLOGGED TABLE penstock_incarnation (
    started_at  TIMESTAMPTZ PRIMARY KEY,
    -- When somebody came to this life first.
    begun_at    BIGINT NOT NULL,
    -- The last worker of the lives before. All workers' locks went with their sessions, and they have some time to come back.
    last_worker BIGINT NOT NULL
);
INSERT INTO penstock_incarnation VALUES (pg_postmaster_start_time(), penstock_now(), 0);

-- Begins this life, unless somebody has. Under the write lock.
--
-- What was committed without a flush is lost with a life, though readers may have seen it. So the numbers of a life after a crash
-- begin further on than a store gets between two flushes. After an orderly end the last life's row is there, and nothing is lost.
CREATE FUNCTION penstock_begin_incarnation() RETURNS VOID LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()) THEN
        RETURN;
    ELSIF NOT EXISTS (SELECT FROM penstock_incarnation) THEN
        UPDATE penstock_state SET last_sequence = last_sequence + (1::BIGINT << 32);
    END IF;
    DELETE FROM penstock_incarnation;
    INSERT INTO penstock_incarnation
        SELECT pg_postmaster_start_time(), penstock_now(), coalesce(max(id), 0) FROM penstock_worker;
END $$;

-- The last transaction of each connection that writes, in that transaction: so a process
-- that has lost the answer to a COMMIT learns what came of it.
CREATE TABLE penstock_writer (
    id         BIGINT PRIMARY KEY,
    batch      BIGINT NOT NULL,
    written_at BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

INSERT INTO penstock_migration (version, name, applied_at) VALUES (13, 'servers', penstock_now());
