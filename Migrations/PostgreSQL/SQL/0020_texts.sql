-- Functions take texts as texts: one that came as BYTEA lost its backslashes. Moments are read as the server writes them. What is written
-- rests on what is there now, and not on what was there when its transaction or statement began.

-- As in 0019_checks.sql, but for zones without minutes: now()::TEXT has one.
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
        || '(?::([0-5]\d)(?:\.(\d+))?)?\s*(?:[Zz]|([-+])(0\d|1[0-4])(?::([0-5]\d))?)?\s*)?$');
    IF part IS NULL THEN RETURN; END IF;
    -- 400 years have 146097 days, and PostgreSQL has no year 0.
    month := make_date(part[1]::INTEGER + 400, part[2]::INTEGER, 1);
    IF part[3]::INTEGER > (month + INTERVAL '1 month')::DATE - month THEN RETURN; END IF;
    day := month - DATE '1970-01-01' - 146097 + part[3]::INTEGER - 1;
    moment := day * 86400 + coalesce(part[4]::BIGINT * 3600 + part[5]::BIGINT * 60, 0) + coalesce(part[6]::BIGINT, 0)
        - coalesce((part[8] || '1')::BIGINT * (part[9]::BIGINT * 3600 + coalesce(part[10], '0')::BIGINT * 60), 0);
    IF moment > 253402300799 THEN
        moment := NULL;
    ELSE
        -- To the microsecond: a time that was copied from a view must not become earlier.
        moment := moment * 1000000 + rpad(left(coalesce(part[7], ''), 6), 6, '0')::BIGINT;
    END IF;
END $$;

-- As in 0010_insert.sql, but for what it says. What looks like bytes as SQL shows them was more likely meant to be those.
CREATE OR REPLACE FUNCTION penstock_payload(payload TEXT) RETURNS BYTEA LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF payload ~ '^\\x([0-9a-f]{2})*$' THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: payload must be text here; penstock_enqueue(queue, payload, ...) takes bytes as well, as BYTEA';
    END IF;
    RETURN convert_to(payload, 'UTF8');
END $$;

-- As in 0011_enqueue.sql. A literal that says no type is a text.
CREATE FUNCTION penstock_enqueue(queue TEXT, payload TEXT, priority BIGINT DEFAULT NULL, attempts_max BIGINT DEFAULT NULL,
    unique_key TEXT DEFAULT NULL, headers TEXT DEFAULT NULL, due_at TEXT DEFAULT NULL, group_key TEXT DEFAULT NULL,
    expires_at TEXT DEFAULT NULL, key_scope BIGINT DEFAULT NULL, OUT sequence BIGINT)
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    sequence := penstock_enqueue(queue, penstock_payload(payload), priority, attempts_max, unique_key, headers, due_at, group_key,
        expires_at, key_scope);
END $$;

-- As in 0015_settles.sql.
CREATE FUNCTION penstock_done(sequence BIGINT, token BIGINT, result TEXT) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF result ~ '^\\x([0-9a-f]{2})*$' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: result must be text here; write bytes as BYTEA';
    END IF;
    PERFORM penstock_done(sequence, token, convert_to(result, 'UTF8'));
END $$;

-- As in 0001_functions.sql. Above READ COMMITTED a transaction sees, behind the lock, what was there when it began: a lease that has been
-- lost since would still be its worker's.
CREATE OR REPLACE FUNCTION penstock_write_lock() RETURNS VOID LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: begin the transaction with ISOLATION LEVEL READ COMMITTED; in another one it would not see what others have changed';
    END IF;
    PERFORM pg_advisory_xact_lock((1346719315::BIGINT << 32) | 'penstock_state'::regclass::oid::BIGINT);
END $$;

-- As in 0019_checks.sql, but what this statement does not change is as it is behind the lock: others may have changed it since the
-- statement began. What comes of both is what has to be sound.
CREATE OR REPLACE FUNCTION penstock_schedules_update() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
DECLARE
    present penstock_schedules;
BEGIN
    PERFORM penstock_write_lock();
    SELECT * INTO present FROM penstock_schedules AS shown WHERE shown.name = OLD.name;
    IF NOT FOUND THEN RETURN NULL; END IF;
    NEW := jsonb_populate_record(present, (SELECT jsonb_object_agg(key, wanted.value) FROM jsonb_each(to_jsonb(NEW)) AS wanted
        JOIN jsonb_each(to_jsonb(OLD)) AS before USING (key) WHERE wanted.value <> before.value));
    OLD := present;
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

INSERT INTO penstock_migration VALUES (20, 'texts', penstock_now() / 1000000 * 1000000);
