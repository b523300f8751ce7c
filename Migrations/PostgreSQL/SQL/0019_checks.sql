-- Dates that plain SQL gives are in the calendar, and a schedule whose payload changes keeps what is due.

-- As in 0018_moments.sql, but for the 31st of February and its like.
CREATE OR REPLACE FUNCTION penstock_moment(written TEXT, OUT moment BIGINT) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part  TEXT[];
    month DATE;
    day   BIGINT;
BEGIN
    IF written ~ '^-?\d{1,19}$' THEN
        IF written::NUMERIC BETWEEN -9223372036854775808 AND 9223372036854775807
            -- Seconds or milliseconds, more likely than a moment before 2000.
            AND written::NUMERIC NOT BETWEEN 1 AND 946684799999999 THEN
            moment := written;
        END IF;
        RETURN;
    END IF;
    part := regexp_match(written, '^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[ \t\n\v\f\rT]*(?:([01]\d|2[0-4]):([0-5]\d)'
        || '(?::([0-5]\d)(?:\.(\d+))?)?\s*(?:[Zz]|([-+])(0\d|1[0-4]):([0-5]\d))?\s*)?$');
    IF part IS NULL THEN RETURN; END IF;
    -- 400 years have 146097 days, and PostgreSQL has no year 0.
    month := make_date(part[1]::INTEGER + 400, part[2]::INTEGER, 1);
    IF part[3]::INTEGER > (month + INTERVAL '1 month')::DATE - month THEN RETURN; END IF;
    day := month - DATE '1970-01-01' - 146097 + part[3]::INTEGER - 1;
    moment := day * 86400 + coalesce(part[4]::BIGINT * 3600 + part[5]::BIGINT * 60, 0) + coalesce(part[6]::BIGINT, 0)
        - coalesce((part[8] || '1')::BIGINT * (part[9]::BIGINT * 3600 + part[10]::BIGINT * 60), 0);
    IF moment > 253402300799 THEN
        moment := NULL;
    ELSE
        -- To the microsecond: a time that was copied from a view must not become earlier.
        moment := moment * 1000000 + rpad(left(coalesce(part[7], ''), 6), 6, '0')::BIGINT;
    END IF;
END $$;

-- As in 0012_schedule_insert.sql, but what was due is not forgotten since a payload changes.
CREATE OR REPLACE FUNCTION penstock_schedules_update() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
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
        -- What is due stays so, unless it is the times that change; a schedule that had given up begins again.
        next_due = CASE WHEN NEW.queue = OLD.queue AND NEW.spec = OLD.spec AND NEW.zone = OLD.zone AND NEW.paused = OLD.paused
            AND schedule.problem IS NULL THEN schedule.next_due END,
        problem = NULL, revision = schedule.revision + 1
        WHERE schedule.name = OLD.name;
    PERFORM pg_notify('penstock:' || current_schema(), OLD.queue);
    PERFORM pg_notify('penstock:' || current_schema(), NEW.queue);
    RETURN NEW;
END $$;

INSERT INTO penstock_migration VALUES (19, 'checks', penstock_now() / 1000000 * 1000000);
