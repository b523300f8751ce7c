-- What people ask of messages and queues, by indexes.

-- Which messages were enqueued with a key, whatever became of them. A message without one costs nothing.
CREATE INDEX penstock_log_unique ON penstock_log (unique_key) WHERE unique_key IS NOT NULL;

INSERT INTO penstock_migration VALUES (26, 'inspecting', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
