-- Who works, and what went wrong.

-- A process that claims messages. It holds a lock on the file lock_name in the folder beside the database
-- for as long as it lives; when the lock is free, the process is dead and its leases go back in line.
CREATE TABLE penstock_worker (
    id         INTEGER PRIMARY KEY,
    lock_name  TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    process_id INTEGER NOT NULL,
    -- Deadlines of its leases count from this boot.
    boot_id    TEXT    NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;

-- The attempts that did not end well. Good ones leave no row here.
CREATE TABLE penstock_attempt (
    sequence   INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    error      TEXT    NOT NULL,
    worker     TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    PRIMARY KEY (sequence, attempt)
) STRICT, WITHOUT ROWID;

INSERT INTO penstock_migration VALUES (3, 'workers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
