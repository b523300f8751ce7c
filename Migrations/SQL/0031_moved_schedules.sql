-- A store whose queues have moved takes no change of a schedule by plain SQL either: it would be in the store that is left, and in no
-- other. While it is draining they come along, as messages do. Nor does a queue that is copied here, before all of it is there.
CREATE TRIGGER penstock_schedules_insert_moving INSTEAD OF INSERT ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name = NEW.queue);
END;
CREATE TRIGGER penstock_schedules_update_moving INSTEAD OF UPDATE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name IN (OLD.queue, NEW.queue));
END;
CREATE TRIGGER penstock_schedules_delete_moving INSTEAD OF DELETE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store')
        WHERE (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining';
    SELECT RAISE(ABORT, 'penstock: the queue is being copied here, and takes nothing before all of it is there')
        WHERE EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
            JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
            WHERE queue.name = OLD.queue);
END;

INSERT INTO penstock_migration VALUES (31, 'moved_schedules', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
