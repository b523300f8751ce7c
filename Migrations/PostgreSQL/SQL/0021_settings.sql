-- Plain SQL of sessions with other settings, and of stores that are left.

-- A backslash in a function means what it does here, also to a session that reads it as an escape (standard_conforming_strings).
DO $$
DECLARE
    function REGPROCEDURE;
BEGIN
    FOR function IN
        SELECT routine.oid FROM pg_catalog.pg_proc AS routine
        JOIN pg_catalog.pg_namespace AS place ON place.oid = routine.pronamespace
        WHERE place.nspname = current_schema() AND routine.proname LIKE 'penstock%' AND strpos(routine.prosrc, chr(92)) > 0
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET standard_conforming_strings TO on', function);
    END LOOP;
END $$;

-- A store whose queues have moved takes no change of a schedule either: it would be in the store that is left, and in no other.
-- While it is draining they come along, as messages do.
CREATE FUNCTION penstock_schedules_moving() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF (SELECT moving <> 'draining' FROM penstock_state WHERE id = 1) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: the queues of this store have moved to another one, or are about to; see penstock_store';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
-- Triggers of a view fire in the order of their names, each with what the one before gives.
CREATE TRIGGER penstock_moving INSTEAD OF INSERT OR UPDATE OR DELETE ON penstock_schedules
    FOR EACH ROW EXECUTE FUNCTION penstock_schedules_moving();

INSERT INTO penstock_migration VALUES (21, 'settings', penstock_now() / 1000000 * 1000000);
