-- Enqueueing by plain SQL: INSERT INTO penstock_messages (queue, payload, ...) VALUES (...). The rows it leaves are those of an
-- enqueue; what may not be is refused, and says why.

-- A moment that is written as ISO 8601 or as a whole number of microseconds; NULL of anything else. What is read is what SQLite's
-- functions read: a date, with a time and an offset or without. A day that its month does not have is one of the next.
CREATE FUNCTION penstock_moment(written TEXT, OUT moment BIGINT) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part TEXT[];
    day  BIGINT;
BEGIN
    IF written ~ '^-?\d{1,19}$' THEN
        IF written::NUMERIC BETWEEN -9223372036854775808 AND 9223372036854775807 THEN moment := written; END IF;
        RETURN;
    END IF;
    part := regexp_match(written, '^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[ \t\n\v\f\rT]*(?:([01]\d|2[0-4]):([0-5]\d)'
        || '(?::([0-5]\d)(?:\.(\d+))?)?\s*(?:[Zz]|([-+])(0\d|1[0-4]):([0-5]\d))?\s*)?$');
    IF part IS NULL THEN RETURN; END IF;
    -- 400 years have 146097 days, and PostgreSQL has no year 0.
    day := make_date(part[1]::INTEGER + 400, part[2]::INTEGER, 1) - DATE '1970-01-01' - 146097 + part[3]::INTEGER - 1;
    moment := day * 86400 + coalesce(part[4]::BIGINT * 3600 + part[5]::BIGINT * 60, 0) + coalesce(part[6]::BIGINT, 0)
        - coalesce((part[8] || '1')::BIGINT * (part[9]::BIGINT * 3600 + part[10]::BIGINT * 60), 0);
    IF moment > 253402300799 THEN
        moment := NULL;
    ELSE
        -- To the microsecond: a time that was copied from a view must not become earlier.
        moment := moment * 1000000 + rpad(left(coalesce(part[7], ''), 6), 6, '0')::BIGINT;
    END IF;
END $$;

-- The bytes of a payload that comes as text. A value of the type BYTEA becomes text such as \x00ff on its way into a view, which
-- does not tell that it was one; it is refused, as nobody means that text.
CREATE FUNCTION penstock_payload(payload TEXT) RETURNS BYTEA LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF payload ~ '^\\x([0-9a-f]{2})*$' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: payload must be text here; penstock_enqueue(queue, payload, ...) takes bytes';
    END IF;
    RETURN convert_to(payload, 'UTF8');
END $$;

-- What headers and a key may be, in messages and schedules alike.
CREATE FUNCTION penstock_check_headers(headers TEXT) RETURNS VOID LANGUAGE plpgsql STABLE
SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF headers IS NULL THEN RETURN; END IF;
    -- Before they are read: PostgreSQL has no text for a zero byte.
    IF strpos(replace(headers, '\\', ''), '\u0000') > 0 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: headers cannot hold zero bytes';
    END IF;
    IF NOT json_valid(headers) OR json_typeof(headers::JSON) <> 'object'
        OR EXISTS (SELECT 1 FROM penstock_json_members(headers) WHERE type <> 'text') THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: headers must be a JSON object of strings, as text';
    END IF;
    IF (SELECT count(*) > 64 OR sum(octet_length(key) + octet_length(value)) > 16384
        OR bool_or(length(key) NOT BETWEEN 1 AND 100 OR key COLLATE "C" ~ '[^-A-Za-z0-9_.]')
        FROM penstock_json_members(headers)) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or .';
    END IF;
    IF (SELECT count(*) > count(DISTINCT upper(replace(replace(key, '-', '_'), '.', '_')))
        FROM penstock_json_members(headers)) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: two headers have the same name but for case and punctuation';
    END IF;
END $$;
CREATE FUNCTION penstock_check_key(what TEXT, key TEXT) RETURNS VOID LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF octet_length(key) NOT BETWEEN 1 AND 500 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: ' || what || ' must be text of 1 to 500 bytes, none of them zero';
    END IF;
END $$;

-- dropOldest, and no room: the oldest waiting message goes.
CREATE FUNCTION penstock_drop_oldest(queue penstock_queue, now BIGINT) RETURNS VOID LANGUAGE plpgsql
SET search_path TO @schema@, pg_temp AS $$
DECLARE
    gone          penstock_log;
    was_ready     penstock_ready;
    was_scheduled penstock_scheduled;
    was_blocked   penstock_blocked;
    next          penstock_blocked;
    back          BIGINT;
BEGIN
    SELECT log.* INTO gone FROM penstock_oldest_waiting AS oldest JOIN penstock_log AS log ON log.sequence = oldest.sequence
        WHERE oldest.queue_id = queue.id;
    IF gone.sequence IS NULL THEN RETURN; END IF;

    -- A task has ended, and others may wait for it.
    INSERT INTO penstock_cascade (workflow_id, sequence, after)
        SELECT 0, task.sequence, 0 FROM penstock_task AS task WHERE task.sequence = gone.sequence
        ON CONFLICT (workflow_id, sequence) DO UPDATE SET after = 0;
    DELETE FROM penstock_awaited AS awaited WHERE awaited.sequence = gone.sequence;

    DELETE FROM penstock_ready AS line WHERE line.queue_id = gone.queue_id AND line.priority = gone.priority
        AND line.turn = gone.turn AND line.sequence = gone.sequence RETURNING line.* INTO was_ready;
    DELETE FROM penstock_scheduled AS line WHERE line.sequence = gone.sequence RETURNING line.* INTO was_scheduled;
    DELETE FROM penstock_blocked AS line WHERE line.queue_id = gone.queue_id AND line.sequence = gone.sequence
        RETURNING line.* INTO was_blocked;
    DELETE FROM penstock_expiry AS expiry WHERE expiry.sequence = gone.sequence;
    DELETE FROM penstock_unique AS held
        WHERE held.queue_id = gone.queue_id AND held.unique_key = gone.unique_key AND held.sequence = gone.sequence;
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at) VALUES (gone.queue_id, gone.sequence,
        'dropped', 'dropOldest', coalesce(was_ready.attempt, was_scheduled.attempt, was_blocked.attempt), now);
    UPDATE penstock_depth AS depth SET
        scheduled = depth.scheduled - (was_scheduled.sequence IS NOT NULL)::INTEGER,
        ready = depth.ready - (was_ready.sequence IS NOT NULL)::INTEGER,
        blocked = depth.blocked - (was_blocked.sequence IS NOT NULL)::INTEGER,
        kept = depth.kept + 1, dropped_total = depth.dropped_total + 1
        WHERE depth.queue_id = gone.queue_id;

    -- It has not started, so its turn is its group's again.
    IF queue.fair <> 0 AND was_ready.sequence IS NOT NULL THEN
        back := 1000000 / coalesce((SELECT weight.weight FROM penstock_weight AS weight
            WHERE weight.queue_id = gone.queue_id AND weight.group_key = coalesce(gone.group_key, '')), 1);
        UPDATE penstock_share AS share SET
            again_turn = CASE WHEN was_ready.attempt > was_ready.forgiven THEN greatest(0, share.again_turn - back)
                ELSE share.again_turn END,
            next_turn = greatest(CASE WHEN was_ready.attempt > was_ready.forgiven THEN greatest(0, share.again_turn - back)
                ELSE share.again_turn END, share.next_turn - back)
            WHERE share.queue_id = gone.queue_id AND share.priority = gone.priority
            AND share.group_key = coalesce(gone.group_key, '');
    END IF;

    -- Its permit goes to the next one of its group, if that is not in order and may start by all that is known without a boot
    -- clock. Otherwise it is free, and the next claim gives it to another one.
    IF NOT EXISTS (SELECT 1 FROM penstock_permit AS permit WHERE permit.queue_id = gone.queue_id
        AND permit.group_key = gone.group_key AND permit.sequence = gone.sequence) THEN RETURN; END IF;
    IF queue.limit_per_key IS NOT NULL AND queue.key_rate_count IS NULL
        AND NOT EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id)
        AND NOT EXISTS (SELECT 1 FROM penstock_group_rate AS held
            WHERE held.queue_id = gone.queue_id AND held.group_key = gone.group_key)
        AND NOT EXISTS (SELECT 1 FROM penstock_regroup AS noted
            WHERE noted.queue_id = gone.queue_id AND noted.group_key = gone.group_key) THEN
        SELECT line.* INTO next FROM penstock_blocked AS line
            WHERE line.queue_id = gone.queue_id AND line.group_key = gone.group_key
            ORDER BY line.priority DESC, line.sequence LIMIT 1;
    END IF;
    DELETE FROM penstock_permit AS permit WHERE permit.queue_id = gone.queue_id AND permit.group_key = gone.group_key
        AND permit.sequence = gone.sequence;
    IF next.sequence IS NULL THEN
        INSERT INTO penstock_regroup (queue_id, group_key) VALUES (gone.queue_id, gone.group_key) ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    INSERT INTO penstock_permit (queue_id, group_key, sequence) VALUES (next.queue_id, next.group_key, next.sequence);
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks, ready_since)
        SELECT next.queue_id, next.priority, log.turn, next.sequence, next.attempt, next.forgiven, next.marks & ~512::BIGINT, now
        FROM penstock_log AS log WHERE log.sequence = next.sequence;
    DELETE FROM penstock_blocked AS line WHERE line.queue_id = next.queue_id AND line.sequence = next.sequence;
    UPDATE penstock_depth AS depth SET ready = depth.ready + 1, blocked = depth.blocked - 1 WHERE depth.queue_id = next.queue_id;
END $$;

INSERT INTO penstock_migration VALUES (10, 'insert', penstock_now() / 1000000 * 1000000);
