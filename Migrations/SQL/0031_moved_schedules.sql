-- A store whose queues have moved takes no change of a schedule by plain SQL either: it would be in the store that is left, and in no
-- other. While it is draining they come along, as messages do.
CREATE TRIGGER penstock_schedules_insert_moving INSTEAD OF INSERT ON penstock_schedules
WHEN (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining' BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store');
END;
CREATE TRIGGER penstock_schedules_update_moving INSTEAD OF UPDATE ON penstock_schedules
WHEN (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining' BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store');
END;
CREATE TRIGGER penstock_schedules_delete_moving INSTEAD OF DELETE ON penstock_schedules
WHEN (SELECT moving FROM penstock_state WHERE id = 1) <> 'draining' BEGIN
    SELECT RAISE(ABORT, 'penstock: the queues of this store have moved to another one, or are about to; see penstock_store');
END;

INSERT INTO penstock_migration VALUES (31, 'moved_schedules', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
