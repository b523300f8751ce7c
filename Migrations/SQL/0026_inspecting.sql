-- What people ask of messages and queues, by indexes.

-- Which messages were enqueued with a key, whatever became of them. A message without one costs nothing.
CREATE INDEX penstock_log_unique ON penstock_log (unique_key) WHERE unique_key IS NOT NULL;

-- When a message became ready last; NULL: as it was accepted, or before there was this column, and its enqueued_at tells.
ALTER TABLE penstock_ready ADD COLUMN ready_since INTEGER;
CREATE INDEX penstock_ready_since ON penstock_ready (queue_id, ready_since) WHERE ready_since IS NOT NULL;

-- A plain INSERT into a full queue gives the permit of the message that it drops to one that was blocked.
CREATE TRIGGER penstock_blocked_passed AFTER DELETE ON penstock_blocked
WHEN (SELECT dropping FROM penstock_state WHERE id = 1) IS NOT NULL BEGIN
    UPDATE penstock_ready SET ready_since = (SELECT now FROM penstock_now)
        WHERE queue_id = OLD.queue_id AND priority = OLD.priority AND sequence = OLD.sequence
        AND turn = (SELECT turn FROM penstock_log AS log WHERE log.sequence = OLD.sequence);
END;

INSERT INTO penstock_migration VALUES (26, 'inspecting', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
