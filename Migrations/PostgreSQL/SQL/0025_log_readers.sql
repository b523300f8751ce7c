-- A cursor whose note is what clients of Amazon SQS have set of the queue is no reader of its log, and the view leaves it out. Otherwise
-- it is as in 0008_views.sql.

CREATE OR REPLACE VIEW penstock_cursors AS
SELECT
    queue.name AS queue,
    cursor.name AS cursor,
    cursor.sequence,
    (SELECT count(*) FROM penstock_log AS log
        WHERE log.queue_id = cursor.queue_id AND log.sequence > cursor.sequence) AS ahead,
    cursor.missed,
    cursor.note,
    penstock_time(cursor.moved_at) AS moved_at
FROM penstock_cursor AS cursor
JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
WHERE substr(cursor.name, 1, 11) <> 'amazon-sqs.';

INSERT INTO penstock_migration VALUES (25, 'log_readers', penstock_now() / 1000000 * 1000000);
