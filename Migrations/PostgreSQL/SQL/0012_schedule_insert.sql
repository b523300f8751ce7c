-- Schedules by plain SQL: rows of penstock_schedules are made, changed and removed. A queue that they are of is rung for, as who
-- waits for its messages has to look for the next firing.

-- What an INSERT and an UPDATE have in common.
CREATE FUNCTION penstock_check_schedule(schedule penstock_schedules) RETURNS VOID LANGUAGE plpgsql
SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_check_headers(schedule.headers);
    PERFORM penstock_check_key('unique_key', schedule.unique_key);
    PERFORM penstock_check_key('group_key', schedule.group_key);
    IF schedule.group_key IS NOT NULL AND EXISTS (SELECT 1 FROM penstock_queue AS queue
        WHERE queue.name = schedule.queue AND queue.fifo = 0 AND queue.limit_per_key IS NULL AND queue.fair = 0) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the queue has no groups';
    ELSIF schedule.key_scope IS NOT NULL AND (schedule.unique_key IS NULL
        OR schedule.key_scope <> 0 AND schedule.key_scope NOT BETWEEN 0.001 AND 31622400) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: key_scope must be NULL, 0 or 0.001 to 31622400 seconds, with a unique_key';
    ELSIF schedule.expires_after NOT BETWEEN 0.000001 AND 315360000 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: expires_after must be NULL or 0.000001 to 315360000 seconds';
    END IF;
END $$;

CREATE FUNCTION penstock_schedules_insert() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
DECLARE
    starts BIGINT := penstock_moment(NEW.starts_at);
    ends   BIGINT := penstock_moment(NEW.ends_at);
BEGIN
    PERFORM penstock_write_lock();
    IF NOT EXISTS (SELECT 1 FROM penstock_queue AS queue WHERE queue.name = NEW.queue) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: there is no queue of that name';
    -- Control characters, and what changes the direction of the text around it.
    ELSIF NEW.name IS NULL OR octet_length(NEW.name) NOT BETWEEN 1 AND 200 OR NEW.name <> btrim(NEW.name, ' ')
        OR NEW.name COLLATE "C" ~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: name must be text of 1 to 200 bytes, without control characters';
    ELSIF EXISTS (SELECT 1 FROM penstock_schedule AS other WHERE other.name = NEW.name) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: there is a schedule of that name already';
    ELSIF NEW.payload IS NULL OR octet_length(NEW.payload) > 16777216 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)';
    ELSIF NEW.spec IS NULL OR octet_length(NEW.spec) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: spec must be text, such as 0 3 * * *';
    END IF;
    PERFORM penstock_check_schedule(NEW);
    IF NEW.starts_at IS NOT NULL AND (starts IS NULL OR NEW.starts_at !~ '^\d{4}-')
        OR NEW.ends_at IS NOT NULL AND (ends IS NULL OR NEW.ends_at !~ '^\d{4}-') OR ends < starts THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: starts_at and ends_at must be ISO 8601 text, in this order';
    END IF;
    INSERT INTO penstock_schedule (name, queue_id, spec, zone, payload, headers, priority, attempts_max, unique_key,
        missed, missed_window, jitter, starts_at, ends_at, paused, anchor, group_key, key_scope, expires_after)
    SELECT NEW.name, queue.id, NEW.spec, coalesce(NEW.zone, 'UTC'), penstock_payload(NEW.payload), NEW.headers,
        coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, coalesce(NEW.missed, 'one'),
        trunc(coalesce(NEW.missed_window, 86400) * 1000000)::BIGINT, trunc(coalesce(NEW.jitter, 0) * 1000000)::BIGINT,
        -- To the second.
        floor(starts / 1000000.0)::BIGINT * 1000000, floor(ends / 1000000.0)::BIGINT * 1000000,
        coalesce(NEW.paused, 0), penstock_now(), NEW.group_key,
        round(NEW.key_scope * 1000000)::BIGINT, round(NEW.expires_after * 1000000)::BIGINT
    FROM penstock_queue AS queue WHERE queue.name = NEW.queue;
    PERFORM pg_notify('penstock:' || current_schema(), NEW.queue);
    RETURN NEW;
END $$;
CREATE TRIGGER penstock_schedules_insert INSTEAD OF INSERT ON penstock_schedules
    FOR EACH ROW EXECUTE FUNCTION penstock_schedules_insert();

CREATE FUNCTION penstock_schedules_update() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    IF NOT EXISTS (SELECT 1 FROM penstock_queue AS queue WHERE queue.name = NEW.queue) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: there is no queue of that name';
    ELSIF NEW.name IS DISTINCT FROM OLD.name OR NEW.starts_at IS DISTINCT FROM OLD.starts_at
        OR NEW.ends_at IS DISTINCT FROM OLD.ends_at OR NEW.next_due IS DISTINCT FROM OLD.next_due
        OR NEW.fired_total IS DISTINCT FROM OLD.fired_total OR NEW.missed_total IS DISTINCT FROM OLD.missed_total
        OR NEW.problem IS DISTINCT FROM OLD.problem THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: name, starts_at, ends_at, next_due, problem and totals cannot be changed; make another schedule';
    -- Bytes that are no text are shown as NULL, and stay what they are.
    ELSIF NEW.payload IS NULL AND OLD.payload IS NOT NULL OR octet_length(NEW.payload) > 16777216 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)';
    END IF;
    PERFORM penstock_check_schedule(NEW);
    UPDATE penstock_schedule AS schedule SET
        queue_id = (SELECT queue.id FROM penstock_queue AS queue WHERE queue.name = NEW.queue), spec = NEW.spec, zone = NEW.zone,
        payload = CASE WHEN NEW.payload IS NOT DISTINCT FROM OLD.payload THEN schedule.payload
            ELSE penstock_payload(NEW.payload) END,
        headers = NEW.headers, priority = NEW.priority, attempts_max = NEW.attempts_max, unique_key = NEW.unique_key,
        missed = NEW.missed, missed_window = trunc(NEW.missed_window * 1000000)::BIGINT,
        jitter = trunc(NEW.jitter * 1000000)::BIGINT, paused = NEW.paused, group_key = NEW.group_key,
        key_scope = round(NEW.key_scope * 1000000)::BIGINT, expires_after = round(NEW.expires_after * 1000000)::BIGINT,
        next_due = NULL, problem = NULL, revision = schedule.revision + 1
        WHERE schedule.name = OLD.name;
    PERFORM pg_notify('penstock:' || current_schema(), OLD.queue);
    PERFORM pg_notify('penstock:' || current_schema(), NEW.queue);
    RETURN NEW;
END $$;
CREATE TRIGGER penstock_schedules_update INSTEAD OF UPDATE ON penstock_schedules
    FOR EACH ROW EXECUTE FUNCTION penstock_schedules_update();

CREATE FUNCTION penstock_schedules_delete() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    DELETE FROM penstock_schedule AS schedule WHERE schedule.name = OLD.name;
    PERFORM pg_notify('penstock:' || current_schema(), OLD.queue);
    RETURN OLD;
END $$;
CREATE TRIGGER penstock_schedules_delete INSTEAD OF DELETE ON penstock_schedules
    FOR EACH ROW EXECUTE FUNCTION penstock_schedules_delete();

INSERT INTO penstock_migration VALUES (12, 'schedule_insert', penstock_now() / 1000000 * 1000000);
