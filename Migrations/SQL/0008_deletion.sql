-- A queue that is being deleted takes no messages. Deleting goes in steps, and what was accepted between two of them
-- would be deleted with the rest.

-- 1 from the first step of a deletion until the queue is gone. After a crash the deletion can be asked for again.
ALTER TABLE penstock_queue ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0 CHECK (deleting IN (0, 1));

-- Beside the trigger of 0005_insert.sql. Whichever of the two is fired first, this one undoes the whole INSERT.
CREATE TRIGGER penstock_messages_insert_deleting INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT RAISE(ABORT, 'penstock: the queue is being deleted, and takes no messages')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND deleting);
END;

-- As in 0004_views.sql, with the new column at the end.
DROP VIEW penstock_queues;
CREATE VIEW penstock_queues AS
SELECT
    queue.name AS queue,
    queue.paused,
    queue.capacity,
    queue.when_full,
    depth.scheduled,
    depth.ready,
    depth.leased,
    depth.dead,
    depth.kept,
    depth.enqueued_total,
    depth.done_total,
    depth.dead_total,
    depth.dropped_total,
    depth.cancelled_total,
    depth.retried_total,
    depth.reclaimed_total,
    queue.deleting
FROM penstock_queue AS queue
JOIN penstock_depth AS depth ON depth.queue_id = queue.id;

INSERT INTO penstock_migration VALUES (8, 'deletion', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
