-- Workers that are no processes of this machine.

-- What a row of penstock_worker stands for that has no lock: a worker that claims through another process, as a client of a server
-- does. Its leases outlive that process, and end by their deadlines alone.
CREATE TABLE penstock_remote_worker (
    worker_id   INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    -- When it claimed last, to ten seconds.
    seen_at     INTEGER NOT NULL,
    -- By how much the clock of penstock_worker.boot_id was behind the wall clock then, to a second: after a reboot its leases go on
    -- by the wall clock.
    wall_offset INTEGER NOT NULL CHECK (wall_offset BETWEEN -4611686018427387903 AND 4611686018427387903)
) STRICT;

-- As in 0004_views.sql; a remote worker has no process here.
DROP VIEW penstock_workers;
CREATE VIEW penstock_workers AS
SELECT
    worker.id AS worker,
    worker.name,
    CASE WHEN remote.worker_id IS NULL THEN worker.process_id END AS process_id,
    strftime('%Y-%m-%dT%H:%M:%S', worker.started_at / 1000000, 'unixepoch')
        || printf('.%06dZ', worker.started_at % 1000000) AS started_at,
    (SELECT count(*) FROM penstock_lease AS lease WHERE lease.worker_id = worker.id) AS leased
FROM penstock_worker AS worker
LEFT JOIN penstock_remote_worker AS remote ON remote.worker_id = worker.id;

INSERT INTO penstock_migration VALUES (24, 'remote_workers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
