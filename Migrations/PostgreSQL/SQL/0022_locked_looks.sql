-- What is looked at before a change is looked at under the write lock; and ten years are ten years.

-- Without the lock a statement that waits for it behind the transaction which closes the store would have looked before that
-- (penstock_schedules_moving).
CREATE TRIGGER penstock_schedules_lock BEFORE INSERT OR UPDATE OR DELETE ON penstock_schedules
    FOR EACH STATEMENT EXECUTE FUNCTION penstock_locking();

-- An interval of ten years is compared as 3,600 days, and counted in seconds as 3,652.5.
CREATE OR REPLACE FUNCTION penstock_retry(sequence BIGINT, token BIGINT, error TEXT, delay INTERVAL DEFAULT NULL) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
DECLARE
    microseconds NUMERIC := round(extract(epoch FROM delay)::NUMERIC * 1000000);
BEGIN
    IF microseconds NOT BETWEEN 0 AND 315360000000000 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: delay must be NULL or 0 to 3650 days';
    END IF;
    PERFORM penstock_settle(sequence, token, 'retry', coalesce(error, ''), microseconds::BIGINT, NULL);
END $$;

INSERT INTO penstock_migration VALUES (22, 'locked_looks', penstock_now() / 1000000 * 1000000);
