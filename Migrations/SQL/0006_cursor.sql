-- Cursors: named places in a queue's log, from which a reader goes on after a restart.

CREATE TABLE penstock_cursor (
    queue_id INTEGER NOT NULL,
    name     TEXT    NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    -- Everything up to this sequence number is behind it.
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    -- Messages that were forgotten before it came to them, or that its reader gave up.
    missed   INTEGER NOT NULL DEFAULT 0 CHECK (missed >= 0),
    note     TEXT,
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER penstock_queue_deleted_cursors AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_cursor WHERE queue_id = OLD.id;
END;

-- Public, as the views of 0004_views.sql: names and columns stay.
CREATE VIEW penstock_cursors AS
SELECT
    queue.name AS queue,
    cursor.name AS cursor,
    cursor.sequence,
    (SELECT count(*) FROM penstock_log AS log
        WHERE log.queue_id = cursor.queue_id AND log.sequence > cursor.sequence) AS ahead,
    cursor.missed,
    cursor.note,
    strftime('%Y-%m-%dT%H:%M:%S', cursor.moved_at / 1000000, 'unixepoch')
        || printf('.%06dZ', cursor.moved_at % 1000000) AS moved_at
FROM penstock_cursor AS cursor
JOIN penstock_queue AS queue ON queue.id = cursor.queue_id;

INSERT INTO penstock_migration VALUES (6, 'cursor', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
