-- Writers of several processes share transactions: the process that holds the writer lock carries out what others have
-- posted in shared memory. What came of it is written here, in the same transaction, and the process that asked reads it.

-- A row for each slot of the shared memory. The ticket names the request.
CREATE TABLE penstock_answer (
    slot     INTEGER PRIMARY KEY,
    ticket   INTEGER NOT NULL,
    receipts BLOB    NOT NULL
) STRICT;

-- It named the last transaction that did so.
ALTER TABLE penstock_state DROP COLUMN last_batch;

INSERT INTO penstock_migration VALUES (9, 'answers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
