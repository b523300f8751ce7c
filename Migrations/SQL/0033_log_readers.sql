-- A cursor whose note is what clients of Amazon SQS have set of the queue is no reader of its log, and the view leaves it out. Otherwise
-- this is as in 0006_cursor.sql. The trigger has another name: by that a file which has lost the row of this step is known.

DROP TRIGGER penstock_queue_deleted_cursors;
CREATE TRIGGER penstock_deleted_queue_cursors AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_cursor WHERE queue_id = OLD.id;
END;

DROP VIEW penstock_cursors;
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
JOIN penstock_queue AS queue ON queue.id = cursor.queue_id
WHERE substr(cursor.name, 1, 11) <> 'amazon-sqs.';

INSERT INTO penstock_migration VALUES (33, 'log_readers', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
