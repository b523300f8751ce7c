-- Rows that contradict the rest of the file, such as a message in line that is not in the log. No program of Penstock's
-- writes such rows. They are set aside, with the reason, so that they stop nothing else and nothing is lost with them.

CREATE TABLE penstock_quarantine (
    id           INTEGER PRIMARY KEY,
    set_aside_at INTEGER NOT NULL,
    -- What is wrong with the row, in one sentence.
    reason       TEXT    NOT NULL,
    -- The table that the row was in.
    source       TEXT    NOT NULL,
    sequence     INTEGER,
    queue_id     INTEGER,
    -- The row's columns as a JSON object, but for a payload.
    columns      TEXT    NOT NULL,
    payload      BLOB
) STRICT;

-- Public, as the views of 0004_views.sql: names and columns stay.
CREATE VIEW penstock_quarantined AS
SELECT
    quarantine.id,
    quarantine.sequence,
    queue.name AS queue,
    quarantine.source,
    quarantine.reason,
    strftime('%Y-%m-%dT%H:%M:%S', quarantine.set_aside_at / 1000000, 'unixepoch')
        || printf('.%06dZ', quarantine.set_aside_at % 1000000) AS set_aside_at,
    quarantine.columns,
    CAST(quarantine.payload AS TEXT) AS payload
FROM penstock_quarantine AS quarantine
LEFT JOIN penstock_queue AS queue ON queue.id = quarantine.queue_id;

INSERT INTO penstock_migration VALUES (10, 'quarantine', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
