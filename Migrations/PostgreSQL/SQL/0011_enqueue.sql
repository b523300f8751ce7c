-- Enqueueing by plain SQL goes on: a message comes into the line.

-- The new message's number. What INSERT INTO penstock_messages does, for payloads that are bytes: a view has them as text. Past the
-- payload all that is left out is as an INSERT has it that does not name the column.
CREATE FUNCTION penstock_enqueue(queue TEXT, payload BYTEA, priority BIGINT DEFAULT NULL, attempts_max BIGINT DEFAULT NULL,
    unique_key TEXT DEFAULT NULL, headers TEXT DEFAULT NULL, due_at TEXT DEFAULT NULL, group_key TEXT DEFAULT NULL,
    expires_at TEXT DEFAULT NULL, key_scope BIGINT DEFAULT NULL, OUT sequence BIGINT)
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    into_queue penstock_queue;
    depth      penstock_depth;
    new        penstock_log;
    now        BIGINT;
    due        BIGINT;
    -- The group that it shares the queue in, and by how much it puts off the next one of that.
    share_key  TEXT;
    step       BIGINT;
    is_grouped BOOLEAN;
    is_timed   BOOLEAN;
    place      TEXT := 'ready';
BEGIN
    PERFORM penstock_write_lock();
    PERFORM penstock_begin_incarnation();
    -- From here on nothing changes but by this transaction.
    now := penstock_now();
    SELECT * INTO into_queue FROM penstock_queue AS named WHERE named.name = penstock_enqueue.queue;
    IF into_queue.id IS NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: there is no queue of that name';
    ELSIF payload IS NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: payload must be given';
    ELSIF octet_length(payload) > 16777216 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: payload has more than 16777216 bytes (payloadBytesMax)';
    ELSIF penstock_enqueue.priority NOT BETWEEN -100 AND 100 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: priority must be an integer from -100 to 100';
    ELSIF penstock_enqueue.attempts_max NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: attempts_max must be an integer from 1 to 1000';
    END IF;
    PERFORM penstock_check_headers(penstock_enqueue.headers);

    due := penstock_moment(due_at);
    IF due_at IS NOT NULL AND due IS NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: due_at must be ISO 8601 text or integer microseconds';
    ELSIF due > now + 315360000000000 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: due_at cannot be more than ten years ahead';
    END IF;
    PERFORM penstock_check_key('unique_key', penstock_enqueue.unique_key);
    PERFORM penstock_check_key('group_key', penstock_enqueue.group_key);
    IF penstock_enqueue.group_key IS NOT NULL
        AND into_queue.fifo = 0 AND into_queue.limit_per_key IS NULL AND into_queue.fair = 0 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the queue has no groups';
    END IF;
    new.expires_at := penstock_moment(penstock_enqueue.expires_at);
    IF penstock_enqueue.expires_at IS NOT NULL AND new.expires_at IS NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: expires_at must be ISO 8601 text or integer microseconds';
    ELSIF new.expires_at < 0 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: expires_at cannot be before 1970';
    ELSIF new.expires_at > now + 315360000000000 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: expires_at cannot be more than ten years ahead';
    ELSIF penstock_enqueue.key_scope IS NOT NULL AND (penstock_enqueue.unique_key IS NULL
        OR penstock_enqueue.key_scope <> 0 AND penstock_enqueue.key_scope NOT BETWEEN 1000 AND 31622400000000) THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key';
    ELSIF EXISTS (SELECT 1 FROM penstock_unique AS held
        WHERE held.queue_id = into_queue.id AND held.unique_key = penstock_enqueue.unique_key) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: a message with that unique_key waits or runs already';
    ELSIF EXISTS (SELECT 1 FROM penstock_unique_period AS held
        WHERE held.queue_id = into_queue.id AND held.unique_key = penstock_enqueue.unique_key AND held.until > now) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: a message with that unique_key holds it still';
    END IF;

    SELECT * INTO depth FROM penstock_depth AS counted WHERE counted.queue_id = into_queue.id;
    IF depth.ready + depth.blocked + depth.scheduled >= into_queue.capacity THEN
        IF into_queue.when_full IN ('fail', 'wait') THEN
            RAISE EXCEPTION USING MESSAGE = 'penstock: the queue is full';
        ELSIF into_queue.when_full = 'dropOldest' THEN
            PERFORM penstock_drop_oldest(into_queue, now);
        ELSE
            place := 'dropped';
        END IF;
    END IF;
    IF due > now AND new.expires_at <= due THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the message would expire before it is due, and never start';
    -- Deleting goes in steps, and what was accepted between two of them would be deleted with the rest.
    ELSIF into_queue.deleting <> 0 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the queue is being deleted, and takes no messages';
    END IF;

    UPDATE penstock_state AS state SET last_sequence = state.last_sequence + 1 RETURNING state.last_sequence INTO new.sequence;
    new.queue_id := into_queue.id;
    new.enqueued_at := now;
    new.priority := coalesce(penstock_enqueue.priority, 0);
    new.attempts_max := penstock_enqueue.attempts_max;
    new.unique_key := penstock_enqueue.unique_key;
    new.group_key := penstock_enqueue.group_key;
    new.key_scope := penstock_enqueue.key_scope;
    -- As the engine writes them: by name, without blanks.
    new.headers := (SELECT '{' || string_agg(to_json(key)::TEXT || ':' || to_json(value)::TEXT, ',' ORDER BY key COLLATE "C") || '}'
        FROM penstock_json_members(penstock_enqueue.headers));
    new.payload := penstock_enqueue.payload;
    new.turn := 0;

    -- A message of a group that takes no permit is blocked: its group is paused, has none left, or others wait for one.
    is_grouped := new.group_key IS NOT NULL AND (into_queue.fifo <> 0 OR into_queue.limit_per_key IS NOT NULL);
    -- No boot clock is to be had here. The next claim sees whether it may start.
    is_timed := is_grouped AND (into_queue.key_rate_count IS NOT NULL OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
        WHERE held.queue_id = new.queue_id AND held.group_key = new.group_key));
    IF place = 'ready' AND due > now THEN
        place := 'scheduled';
    ELSIF place = 'ready' AND is_grouped AND (is_timed
        OR EXISTS (SELECT 1 FROM penstock_group_pause AS pause
            WHERE pause.queue_id = new.queue_id AND pause.group_key = new.group_key)
        OR EXISTS (SELECT 1 FROM penstock_blocked AS other
            WHERE other.queue_id = new.queue_id AND other.group_key = new.group_key)
        OR (SELECT count(*) FROM penstock_permit AS permit
            WHERE permit.queue_id = new.queue_id AND permit.group_key = new.group_key)
            >= CASE WHEN into_queue.fifo <> 0 THEN 1 ELSE into_queue.limit_per_key END) THEN
        place := 'blocked';
    END IF;

    -- In a queue that is shared fairly, a message that is ready has the later of two turns: the one that was claimed last, and the
    -- one behind its group's last message. In one that was shared it comes behind all that have a turn.
    share_key := coalesce(new.group_key, '');
    step := 1000000 / coalesce((SELECT weight.weight FROM penstock_weight AS weight
        WHERE weight.queue_id = new.queue_id AND weight.group_key = share_key), 1);
    IF place = 'ready' AND EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = new.queue_id) THEN
        new.turn := greatest(
            coalesce((SELECT fair.turn FROM penstock_fair AS fair
                WHERE fair.queue_id = new.queue_id AND fair.priority = new.priority), 1),
            CASE WHEN into_queue.fair <> 0 THEN coalesce((SELECT share.next_turn FROM penstock_share AS share
                WHERE share.queue_id = new.queue_id AND share.priority = new.priority AND share.group_key = share_key), 0)
            ELSE coalesce((SELECT ready.turn FROM penstock_ready AS ready
                WHERE ready.queue_id = new.queue_id AND ready.priority = new.priority
                ORDER BY ready.turn DESC, ready.sequence DESC LIMIT 1), 0) END);
    END IF;

    INSERT INTO penstock_log VALUES (new.*);
    IF place = 'dropped' THEN
        -- dropNewest, and no room: the arriving message goes on record, and no further.
        INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
            VALUES (new.queue_id, new.sequence, 'dropped', 'dropNewest', 0, now);
    ELSE
        PERFORM penstock_line_up(into_queue, new, place, due, share_key, step, is_timed);
    END IF;
    UPDATE penstock_depth AS depth SET
        enqueued_total = depth.enqueued_total + 1,
        scheduled = depth.scheduled + (place = 'scheduled')::INTEGER,
        ready = depth.ready + (place = 'ready')::INTEGER,
        blocked = depth.blocked + (place = 'blocked')::INTEGER,
        kept = depth.kept + (place = 'dropped')::INTEGER,
        dropped_total = depth.dropped_total + (place = 'dropped')::INTEGER
        WHERE depth.queue_id = new.queue_id;
    -- Processes whose workers wait for messages listen to the schema's channel. It is rung when the transaction commits, and once for a queue.
    PERFORM pg_notify('penstock:' || current_schema(), into_queue.name);
    sequence := new.sequence;
END $$;

-- The rows of a message that is in line at `place`.
CREATE FUNCTION penstock_line_up(into_queue penstock_queue, new penstock_log, place TEXT, due BIGINT, share_key TEXT, step BIGINT,
    is_timed BOOLEAN) RETURNS VOID LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    marks BIGINT := (new.unique_key IS NOT NULL AND coalesce(new.key_scope, 0) = 0)::INTEGER
        + 32 * (new.key_scope IS NOT NULL AND new.key_scope = 0)::INTEGER + 16 * (new.expires_at IS NOT NULL)::INTEGER
        + 8 * (new.group_key IS NOT NULL)::INTEGER;
BEGIN
    IF new.unique_key IS NOT NULL THEN
        -- The row of a period that is over goes when somebody has the key again: no clock that is set back gives it two holders.
        DELETE FROM penstock_unique_period AS held WHERE held.queue_id = new.queue_id AND held.unique_key = new.unique_key;
        IF new.key_scope > 0 THEN
            INSERT INTO penstock_unique_period (queue_id, unique_key, sequence, until)
                VALUES (new.queue_id, new.unique_key, new.sequence, new.enqueued_at + new.key_scope);
        ELSE
            INSERT INTO penstock_unique (queue_id, unique_key, sequence) VALUES (new.queue_id, new.unique_key, new.sequence);
        END IF;
    END IF;
    IF new.expires_at IS NOT NULL THEN
        INSERT INTO penstock_expiry (sequence, queue_id, expires_at) VALUES (new.sequence, new.queue_id, new.expires_at);
    END IF;
    IF place = 'scheduled' THEN
        INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
            VALUES (new.sequence, new.queue_id, due, new.priority, 0, 0, marks);
    ELSIF place = 'blocked' THEN
        INSERT INTO penstock_blocked (queue_id, group_key, priority, sequence, attempt, forgiven, marks)
            VALUES (new.queue_id, new.group_key, new.priority, new.sequence, 0, 0, marks);
        IF is_timed THEN
            INSERT INTO penstock_regroup (queue_id, group_key) VALUES (new.queue_id, new.group_key) ON CONFLICT DO NOTHING;
        END IF;
    ELSE
        IF into_queue.fair <> 0 THEN
            INSERT INTO penstock_share AS share (queue_id, priority, group_key, next_turn, again_turn)
                VALUES (new.queue_id, new.priority, share_key, new.turn + step, 0)
                ON CONFLICT (queue_id, priority, group_key) DO UPDATE SET next_turn = excluded.next_turn;
        END IF;
        INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
            VALUES (new.queue_id, new.priority, new.turn, new.sequence, 0, 0, marks);
        IF new.group_key IS NOT NULL AND (into_queue.fifo <> 0 OR into_queue.limit_per_key IS NOT NULL) THEN
            INSERT INTO penstock_permit (queue_id, group_key, sequence) VALUES (new.queue_id, new.group_key, new.sequence);
        END IF;
    END IF;
END $$;

CREATE FUNCTION penstock_messages_insert() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    -- RETURNING sequence tells the number.
    NEW.sequence := penstock_enqueue(NEW.queue, penstock_payload(NEW.payload), NEW.priority, NEW.attempts_max, NEW.unique_key,
        NEW.headers, NEW.due_at, NEW.group_key, NEW.expires_at, NEW.key_scope);
    RETURN NEW;
END $$;
CREATE TRIGGER penstock_messages_insert INSTEAD OF INSERT ON penstock_messages
    FOR EACH ROW EXECUTE FUNCTION penstock_messages_insert();

INSERT INTO penstock_migration VALUES (11, 'enqueue', penstock_now() / 1000000 * 1000000);
