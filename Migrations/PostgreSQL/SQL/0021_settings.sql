-- Plain SQL of sessions with other settings, and of stores that are left or not yet there.

-- A backslash in these functions means what it does here, also to a session that reads it as an escape.
ALTER FUNCTION penstock_moment(TEXT) SET standard_conforming_strings TO on;
ALTER FUNCTION penstock_payload(TEXT) SET standard_conforming_strings TO on;
ALTER FUNCTION penstock_check_headers(TEXT) SET standard_conforming_strings TO on;
ALTER FUNCTION penstock_done(BIGINT, BIGINT, TEXT) SET standard_conforming_strings TO on;
ALTER FUNCTION penstock_schedules_insert() SET standard_conforming_strings TO on;

-- A store whose queues have moved takes no change of a schedule either: it would be in the store that is left, and in no other.
-- While it is draining they come along, as messages do. Nor does a queue that is copied here, before all of it is there.
CREATE FUNCTION penstock_schedules_moving() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF (SELECT moving <> 'draining' FROM penstock_state WHERE id = 1) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: the queues of this store have moved to another one, or are about to; see penstock_store';
    ELSIF EXISTS (SELECT 1 FROM penstock_arriving AS arriving JOIN penstock_queue AS queue ON queue.id = arriving.queue_id
        JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id AND arrival.place >= 0
        WHERE TG_OP <> 'INSERT' AND queue.name = OLD.queue OR TG_OP <> 'DELETE' AND queue.name = NEW.queue) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: the queue is being copied here, and takes nothing before all of it is there';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
-- Triggers of a view fire in the order of their names, each with what the one before gives.
CREATE TRIGGER penstock_moving INSTEAD OF INSERT OR UPDATE OR DELETE ON penstock_schedules
    FOR EACH ROW EXECUTE FUNCTION penstock_schedules_moving();

INSERT INTO penstock_migration VALUES (21, 'settings', penstock_now() / 1000000 * 1000000);
