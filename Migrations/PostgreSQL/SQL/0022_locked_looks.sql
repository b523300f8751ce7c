-- What is looked at before a change is looked at under the write lock; and ten years are ten years.

-- Without the lock a statement that waits for it behind the transaction which closes the store would have looked before that.
CREATE OR REPLACE FUNCTION penstock_schedules_moving() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
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
