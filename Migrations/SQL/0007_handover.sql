-- Writers of several processes share transactions: who has the turn carries out what others have posted in shared memory.

-- Names the last transaction that did so. When a process dies between its COMMIT and its answers, the others know by
-- this whether it was committed.
ALTER TABLE penstock_state ADD COLUMN last_batch INTEGER NOT NULL DEFAULT 0;

INSERT INTO penstock_migration VALUES (7, 'handover', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
