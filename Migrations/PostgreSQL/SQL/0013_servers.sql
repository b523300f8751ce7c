-- What the store has to know of the server it is on, and of the processes that write.

-- Which life of a server this is (see the table's use): it has no log, so the server empties it when it recovers from a crash,
-- and a standby that is promoted has none of its rows. Without the row of this life sequence numbers go on far ahead.
CREATE UNLOGGED TABLE penstock_incarnation (
    started_at TIMESTAMPTZ PRIMARY KEY
);
INSERT INTO penstock_incarnation (started_at) VALUES (pg_postmaster_start_time());

-- The last transaction of each process that writes, in that transaction: so who has lost the answer to a COMMIT learns what came of it.
CREATE TABLE penstock_writer (
    id         BIGINT PRIMARY KEY,
    batch      BIGINT NOT NULL,
    written_at BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

INSERT INTO penstock_migration (version, name, applied_at) VALUES (13, 'servers', penstock_now());
