-- What plain SQL may write, checked as what programs write is: keys and names are UTF-8, dates are in the calendar. A key of other
-- bytes was read as other text than it was found by, and kept its group's permit for good.

-- The places of characters in a key.
CREATE VIEW penstock_position AS
WITH RECURSIVE position (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM position WHERE n < 500) SELECT n FROM position;

-- As in 0011_schedules.sql, but for bytes that are no text: read as a character and written again, they are others.
DROP TRIGGER penstock_schedule_checked;
CREATE TRIGGER penstock_schedule_checked INSTEAD OF INSERT ON penstock_schedule_check BEGIN
    SELECT RAISE(ABORT, 'penstock: headers must be a JSON object of strings, as text')
        WHERE NEW.headers IS NOT NULL AND CASE
            WHEN typeof(NEW.headers) <> 'text' OR NOT json_valid(NEW.headers) THEN 1
            ELSE json_type(NEW.headers) <> 'object'
                OR EXISTS (SELECT 1 FROM json_each(NEW.headers) WHERE type <> 'text') END;
    SELECT RAISE(ABORT, 'penstock: headers are 64 and 16384 bytes at most, each named by 1 to 100 letters, digits, -, _ or .')
        WHERE NEW.headers IS NOT NULL AND (
            EXISTS (SELECT 1 FROM json_each(NEW.headers)
                WHERE length(key) NOT BETWEEN 1 AND 100 OR key GLOB '*[^-A-Za-z0-9_.]*')
            OR (SELECT count(*) > 64 OR total(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))) > 16384
                FROM json_each(NEW.headers)));
    SELECT RAISE(ABORT, 'penstock: two headers have the same name but for case and punctuation')
        WHERE NEW.headers IS NOT NULL
        AND (SELECT count(*) > count(DISTINCT upper(replace(replace(key, '-', '_'), '.', '_')))
            FROM json_each(NEW.headers));
    SELECT RAISE(ABORT, 'penstock: headers cannot hold zero bytes')
        WHERE instr(replace(NEW.headers, '\\', ''), '\u0000') > 0;
    SELECT RAISE(ABORT, 'penstock: unique_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.unique_key IS NOT NULL AND (typeof(NEW.unique_key) <> 'text'
            OR length(CAST(NEW.unique_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.unique_key AS BLOB), x'00') > 0
            OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.unique_key AS BLOB))
                AND substr(NEW.unique_key, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.unique_key, n, 1))), char(65534), char(65535))));
END;

-- As in 0022_schedule_starts.sql, but for that.
DROP TRIGGER penstock_schedule_start_checked;
CREATE TRIGGER penstock_schedule_start_checked INSTEAD OF INSERT ON penstock_schedule_start_check BEGIN
    SELECT RAISE(ABORT, 'penstock: group_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.group_key IS NOT NULL AND (typeof(NEW.group_key) <> 'text'
            OR length(CAST(NEW.group_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.group_key AS BLOB), x'00') > 0
            OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.group_key AS BLOB))
                AND substr(NEW.group_key, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.group_key, n, 1))), char(65534), char(65535))));
    SELECT RAISE(ABORT, 'penstock: the queue has no groups')
        WHERE NEW.group_key IS NOT NULL
        AND EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND fifo = 0 AND limit_per_key IS NULL AND fair = 0);
    SELECT RAISE(ABORT, 'penstock: key_scope must be NULL, 0 or 0.001 to 31622400 seconds, with a unique_key')
        WHERE NEW.key_scope IS NOT NULL AND (NEW.unique_key IS NULL OR typeof(NEW.key_scope) NOT IN ('integer', 'real')
            OR NEW.key_scope <> 0 AND NEW.key_scope NOT BETWEEN 0.001 AND 31622400);
    SELECT RAISE(ABORT, 'penstock: expires_after must be NULL or 0.000001 to 315360000 seconds')
        WHERE NEW.expires_after IS NOT NULL AND (typeof(NEW.expires_after) NOT IN ('integer', 'real')
            OR NEW.expires_after NOT BETWEEN 0.000001 AND 315360000);
END;

DROP TRIGGER penstock_schedules_insert;
CREATE TRIGGER penstock_schedules_insert INSTEAD OF INSERT ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: name must be text of 1 to 200 bytes, without control characters')
        WHERE typeof(NEW.name) <> 'text' OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 200
        OR NEW.name <> trim(NEW.name) OR instr(CAST(NEW.name AS BLOB), x'00') > 0
        OR EXISTS (SELECT 1 FROM penstock_position WHERE n <= length(CAST(NEW.name AS BLOB))
            AND substr(NEW.name, n, 1)
                    NOT IN ('', char(unicode(substr(NEW.name, n, 1))), char(65534), char(65535)))
        OR NEW.name GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
        -- What changes the direction of the text around it.
        OR NEW.name GLOB '*[' || char(8234) || '-' || char(8238) || char(8294) || '-' || char(8297) || ']*';
    SELECT RAISE(ABORT, 'penstock: there is a schedule of that name already')
        WHERE EXISTS (SELECT 1 FROM penstock_schedule WHERE name = NEW.name);
    SELECT RAISE(ABORT, 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)')
        WHERE NEW.payload IS NULL OR length(CAST(NEW.payload AS BLOB)) > 16777216;
    SELECT RAISE(ABORT, 'penstock: spec must be text, such as 0 3 * * *')
        WHERE typeof(NEW.spec) <> 'text' OR length(CAST(NEW.spec AS BLOB)) NOT BETWEEN 1 AND 200;
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check
        VALUES (NEW.queue, NEW.unique_key, NEW.group_key, NEW.key_scope, NEW.expires_after);
    SELECT RAISE(ABORT, 'penstock: starts_at and ends_at must be ISO 8601 text, in this order')
        WHERE NEW.starts_at IS NOT NULL AND (julianday(NEW.starts_at) IS NULL
            OR date(julianday(substr(NEW.starts_at, 1, 10))) IS NOT substr(NEW.starts_at, 1, 10)
            OR length(NEW.starts_at) <> length(CAST(NEW.starts_at AS BLOB)))
        OR NEW.ends_at IS NOT NULL AND (julianday(NEW.ends_at) IS NULL
            OR date(julianday(substr(NEW.ends_at, 1, 10))) IS NOT substr(NEW.ends_at, 1, 10)
            OR length(NEW.ends_at) <> length(CAST(NEW.ends_at AS BLOB)))
        OR julianday(NEW.ends_at) < julianday(NEW.starts_at);
    INSERT INTO penstock_schedule (name, queue_id, spec, zone, payload, headers, priority, attempts_max, unique_key,
        missed, missed_window, jitter, starts_at, ends_at, paused, anchor, group_key, key_scope, expires_after)
    SELECT NEW.name, queue.id, NEW.spec, coalesce(NEW.zone, 'UTC'), CAST(NEW.payload AS BLOB), NEW.headers,
        coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, coalesce(NEW.missed, 'one'),
        CAST(coalesce(NEW.missed_window, 86400) * 1000000 AS INTEGER), CAST(coalesce(NEW.jitter, 0) * 1000000 AS INTEGER),
        CAST(strftime('%s', NEW.starts_at) AS INTEGER) * 1000000, CAST(strftime('%s', NEW.ends_at) AS INTEGER) * 1000000,
        coalesce(NEW.paused, 0), (SELECT now FROM penstock_now), NEW.group_key,
        CAST(round(NEW.key_scope * 1000000) AS INTEGER), CAST(round(NEW.expires_after * 1000000) AS INTEGER)
    FROM penstock_queue AS queue WHERE queue.name = NEW.queue;
END;

-- As in 0022_schedule_starts.sql, but what was due is not forgotten since a payload changes.
DROP TRIGGER penstock_schedules_update;
CREATE TRIGGER penstock_schedules_update INSTEAD OF UPDATE ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: name, starts_at, ends_at, next_due, problem and totals cannot be changed; make another schedule')
        WHERE NEW.name IS NOT OLD.name OR NEW.starts_at IS NOT OLD.starts_at OR NEW.ends_at IS NOT OLD.ends_at
        OR NEW.next_due IS NOT OLD.next_due OR NEW.fired_total IS NOT OLD.fired_total
        OR NEW.missed_total IS NOT OLD.missed_total OR NEW.problem IS NOT OLD.problem;
    SELECT RAISE(ABORT, 'penstock: payload must be given, of 16777216 bytes at most (payloadBytesMax)')
        WHERE NEW.payload IS NULL OR length(CAST(NEW.payload AS BLOB)) > 16777216;
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check
        VALUES (NEW.queue, NEW.unique_key, NEW.group_key, NEW.key_scope, NEW.expires_after);
    UPDATE penstock_schedule SET
        queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue), spec = NEW.spec, zone = NEW.zone,
        payload = CASE WHEN NEW.payload IS OLD.payload THEN payload ELSE CAST(NEW.payload AS BLOB) END,
        headers = NEW.headers, priority = NEW.priority, attempts_max = NEW.attempts_max, unique_key = NEW.unique_key,
        missed = NEW.missed, missed_window = CAST(NEW.missed_window * 1000000 AS INTEGER),
        jitter = CAST(NEW.jitter * 1000000 AS INTEGER), paused = NEW.paused, group_key = NEW.group_key,
        key_scope = CAST(round(NEW.key_scope * 1000000) AS INTEGER),
        expires_after = CAST(round(NEW.expires_after * 1000000) AS INTEGER),
        -- What is due stays so, unless it is the times that change; a schedule that had given up begins again.
        next_due = CASE WHEN NEW.queue IS OLD.queue AND NEW.spec IS OLD.spec AND NEW.zone IS OLD.zone AND NEW.paused IS OLD.paused
            AND problem IS NULL THEN next_due END,
        problem = NULL, revision = revision + 1
    WHERE name = OLD.name;
END;

-- As in 0029_inserts.sql, but for dates. SQLite takes the 31st of February for the 3rd of March, and text for ended by a zero byte.
DROP TRIGGER penstock_messages_insert;
CREATE TRIGGER penstock_messages_insert INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT CASE
        WHEN NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue)
            THEN RAISE(ABORT, 'penstock: there is no queue of that name')
        WHEN EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND deleting)
            THEN RAISE(ABORT, 'penstock: the queue is being deleted, and takes no messages')
        WHEN NEW.payload IS NULL THEN RAISE(ABORT, 'penstock: payload must be given')
        WHEN length(CAST(NEW.payload AS BLOB)) > 16777216
            THEN RAISE(ABORT, 'penstock: payload has more than 16777216 bytes (payloadBytesMax)')
        WHEN typeof(NEW.priority) NOT IN ('null', 'integer') OR NEW.priority NOT BETWEEN -100 AND 100
            THEN RAISE(ABORT, 'penstock: priority must be an integer from -100 to 100')
        WHEN typeof(NEW.attempts_max) NOT IN ('null', 'integer') OR NEW.attempts_max NOT BETWEEN 1 AND 1000
            THEN RAISE(ABORT, 'penstock: attempts_max must be an integer from 1 to 1000')
        -- 1 to the last microsecond before 2000 is no moment that somebody means.
        WHEN CASE typeof(NEW.due_at) WHEN 'null' THEN 0 WHEN 'integer' THEN NEW.due_at BETWEEN 1 AND 946684799999999
            ELSE typeof(NEW.due_at) <> 'text' OR julianday(NEW.due_at) IS NULL
                OR date(julianday(substr(NEW.due_at, 1, 10))) IS NOT substr(NEW.due_at, 1, 10)
                OR length(NEW.due_at) <> length(CAST(NEW.due_at AS BLOB)) END
            THEN RAISE(ABORT, 'penstock: due_at must be ISO 8601 text or integer microseconds')
        WHEN CASE typeof(NEW.due_at) WHEN 'text' THEN julianday(NEW.due_at) > julianday('now') + 3650
            ELSE NEW.due_at > (SELECT now + 315360000000000 FROM penstock_now) END
            THEN RAISE(ABORT, 'penstock: due_at cannot be more than ten years ahead')
        WHEN CASE typeof(NEW.expires_at) WHEN 'null' THEN 0 WHEN 'integer' THEN NEW.expires_at BETWEEN 1 AND 946684799999999
            ELSE typeof(NEW.expires_at) <> 'text' OR julianday(NEW.expires_at) IS NULL
                OR date(julianday(substr(NEW.expires_at, 1, 10))) IS NOT substr(NEW.expires_at, 1, 10)
                OR length(NEW.expires_at) <> length(CAST(NEW.expires_at AS BLOB)) END
            THEN RAISE(ABORT, 'penstock: expires_at must be ISO 8601 text or integer microseconds')
        WHEN CASE typeof(NEW.expires_at) WHEN 'text' THEN julianday(NEW.expires_at) < julianday('1970-01-01')
            ELSE NEW.expires_at < 0 END
            THEN RAISE(ABORT, 'penstock: expires_at cannot be before 1970')
        WHEN CASE typeof(NEW.expires_at) WHEN 'text' THEN julianday(NEW.expires_at) > julianday('now') + 3650
            ELSE NEW.expires_at > (SELECT now + 315360000000000 FROM penstock_now) END
            THEN RAISE(ABORT, 'penstock: expires_at cannot be more than ten years ahead')
        END;
    -- A message is held to what the messages of a schedule are.
    INSERT INTO penstock_schedule_check VALUES (NEW.headers, NEW.unique_key);
    INSERT INTO penstock_schedule_start_check VALUES (NEW.queue, NULL, NEW.group_key, NULL, NULL);
    SELECT CASE
        WHEN NEW.key_scope IS NOT NULL AND (NEW.unique_key IS NULL OR typeof(NEW.key_scope) <> 'integer'
            OR NEW.key_scope <> 0 AND NEW.key_scope NOT BETWEEN 1000 AND 31622400000000)
            THEN RAISE(ABORT, 'penstock: key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key')
        WHEN EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_unique AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key WHERE queue.name = NEW.queue)
            THEN RAISE(ABORT, 'penstock: a message with that unique_key waits or runs already')
        WHEN EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_now JOIN penstock_unique_period AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key WHERE queue.name = NEW.queue AND held.until > now)
            THEN RAISE(ABORT, 'penstock: a message with that unique_key holds it still')
        WHEN EXISTS (SELECT 1 FROM penstock_queue JOIN penstock_depth ON queue_id = id
            WHERE name = NEW.queue AND when_full IN ('fail', 'wait') AND ready + blocked + scheduled >= capacity)
            THEN RAISE(ABORT, 'penstock: the queue is full')
        END;

    -- dropOldest, and no room: the oldest waiting message goes. Which one that is, is settled here, once: what carries it out
    -- changes the answer.
    UPDATE penstock_state SET last_sequence = last_sequence + 1, dropping = (
        SELECT oldest.sequence FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id
        JOIN penstock_oldest_waiting AS oldest ON oldest.queue_id = queue.id
        WHERE queue.name = NEW.queue AND queue.when_full = 'dropOldest'
        AND depth.ready + depth.blocked + depth.scheduled >= queue.capacity);
    UPDATE penstock_state SET dropping = NULL WHERE dropping IS NOT NULL;

    INSERT INTO penstock_log
        (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key, group_key, key_scope, expires_at, headers,
        payload)
        SELECT last_sequence, queue.id, now, coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, NEW.group_key,
            NEW.key_scope, CASE
            WHEN typeof(NEW.expires_at) = 'integer' THEN NEW.expires_at
            WHEN instr(NEW.expires_at, '.') = 0 THEN CAST(strftime('%s', NEW.expires_at) AS INTEGER) * 1000000
            ELSE CAST(strftime('%s', substr(NEW.expires_at, 1, instr(NEW.expires_at, '.') - 1)
                    || ltrim(substr(NEW.expires_at, instr(NEW.expires_at, '.') + 1), '0123456789')) AS INTEGER) * 1000000
                + CAST(round(CAST('0.' || substr(NEW.expires_at, instr(NEW.expires_at, '.') + 1, 6) AS REAL) * 1000000)
                    AS INTEGER)
            END,
            nullif((SELECT json_group_object(key, value)
                FROM (SELECT key, value FROM json_each(NEW.headers) ORDER BY key)), '{}'),
            CAST(NEW.payload AS BLOB)
        FROM penstock_state, penstock_now, penstock_queue AS queue WHERE queue.name = NEW.queue;
    -- Text has its fraction of a second read to the microsecond, which SQLite's own functions do not.
    INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, marks)
        SELECT sequence, queue_id, due, priority, 0, 0, marks FROM penstock_arrived JOIN (SELECT CASE
            WHEN typeof(NEW.due_at) = 'integer' THEN NEW.due_at
            WHEN instr(NEW.due_at, '.') = 0 THEN CAST(strftime('%s', NEW.due_at) AS INTEGER) * 1000000
            ELSE CAST(strftime('%s', substr(NEW.due_at, 1, instr(NEW.due_at, '.') - 1)
                    || ltrim(substr(NEW.due_at, instr(NEW.due_at, '.') + 1), '0123456789')) AS INTEGER) * 1000000
                + CAST(round(CAST('0.' || substr(NEW.due_at, instr(NEW.due_at, '.') + 1, 6) AS REAL) * 1000000)
                    AS INTEGER)
            END AS due) WHERE due > enqueued_at;
    SELECT RAISE(ABORT, 'penstock: the message would expire before it is due, and never start')
        FROM penstock_arrived AS log JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
        WHERE log.expires_at <= scheduled.due_at;

    -- dropNewest, and no room: the arriving message goes on record, and no further.
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT penstock_queue.id, last_sequence, 'dropped', 'dropNewest', 0, now
        FROM penstock_state, penstock_now, penstock_queue JOIN penstock_depth ON queue_id = penstock_queue.id
        WHERE name = NEW.queue AND when_full = 'dropNewest' AND ready + blocked + scheduled >= capacity;
    DELETE FROM penstock_scheduled WHERE sequence = (SELECT last_sequence FROM penstock_state)
        AND NOT EXISTS (SELECT 1 FROM penstock_arrived);

    -- The row of a period that is over goes when somebody has the key again: no clock that is set back gives it a second holder.
    DELETE FROM penstock_unique_period
        WHERE (queue_id, unique_key) = (SELECT queue_id, unique_key FROM penstock_arrived);
    INSERT INTO penstock_unique_period (queue_id, unique_key, sequence, until)
        SELECT queue_id, unique_key, sequence, enqueued_at + key_scope FROM penstock_arrived
        WHERE unique_key IS NOT NULL AND key_scope > 0;
    INSERT INTO penstock_expiry (sequence, queue_id, expires_at)
        SELECT sequence, queue_id, expires_at FROM penstock_arrived WHERE expires_at IS NOT NULL;
    INSERT INTO penstock_unique (queue_id, unique_key, sequence)
        SELECT queue_id, unique_key, sequence FROM penstock_arrived
        WHERE unique_key IS NOT NULL AND ifnull(key_scope, 0) = 0;
    -- A message of a group that takes no permit is blocked: its group is paused, has none left, or others wait for one.
    INSERT INTO penstock_blocked (queue_id, group_key, priority, sequence, attempt, forgiven, marks)
        SELECT log.queue_id, log.group_key, log.priority, log.sequence, 0, 0, log.marks
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        WHERE log.group_key IS NOT NULL AND (queue.fifo OR queue.limit_per_key IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM penstock_scheduled AS scheduled WHERE scheduled.sequence = log.sequence)
        AND (EXISTS (SELECT 1 FROM penstock_group_pause AS pause
                WHERE pause.queue_id = log.queue_id AND pause.group_key = log.group_key)
            OR EXISTS (SELECT 1 FROM penstock_blocked AS other
                WHERE other.queue_id = log.queue_id AND other.group_key = log.group_key)
            OR (SELECT count(*) FROM penstock_permit AS permit
                WHERE permit.queue_id = log.queue_id AND permit.group_key = log.group_key)
                >= CASE WHEN queue.fifo THEN 1 ELSE queue.limit_per_key END
            -- No boot clock is to be had here. The next claim sees whether it may start.
            OR queue.key_rate_count IS NOT NULL
            OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
                WHERE held.queue_id = log.queue_id AND held.group_key = log.group_key));
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT log.queue_id, log.group_key FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence
        WHERE queue.key_rate_count IS NOT NULL OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
            WHERE held.queue_id = log.queue_id AND held.group_key = log.group_key);
    -- In a queue that is shared fairly, a message that is ready has the later of two turns: the one that was claimed last, and the
    -- one behind its group's last message. In one that was shared it comes behind all that have a turn.
    UPDATE penstock_log SET turn = (SELECT max(
            coalesce((SELECT fair.turn FROM penstock_fair AS fair
                WHERE (fair.queue_id, fair.priority) = (log.queue_id, log.priority)), 1),
            CASE WHEN queue.fair THEN coalesce((SELECT next_turn FROM penstock_share AS share
                WHERE (share.queue_id, share.priority, share.group_key) = (log.queue_id, log.priority, log.share_key)), 0)
            ELSE coalesce((SELECT ready.turn FROM penstock_ready AS ready
                WHERE (ready.queue_id, ready.priority) = (log.queue_id, log.priority)
                ORDER BY ready.turn DESC, ready.sequence DESC LIMIT 1), 0) END)
            FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id)
        WHERE sequence = (SELECT log.sequence FROM penstock_arrived AS log WHERE log.is_ready
            AND EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = log.queue_id));
    INSERT INTO penstock_share (queue_id, priority, group_key, next_turn, again_turn)
        SELECT log.queue_id, log.priority, log.share_key, log.turn + log.step, 0
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id WHERE queue.fair AND log.is_ready
        ON CONFLICT (queue_id, priority, group_key) DO UPDATE SET next_turn = excluded.next_turn;
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
        SELECT queue_id, priority, turn, sequence, 0, 0, marks FROM penstock_arrived WHERE is_ready;
    INSERT INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        WHERE log.is_ready AND log.group_key IS NOT NULL AND (queue.fifo OR queue.limit_per_key IS NOT NULL);

    UPDATE penstock_depth SET
        enqueued_total = enqueued_total + 1,
        scheduled = scheduled + EXISTS (SELECT 1 FROM penstock_scheduled
            WHERE sequence = (SELECT last_sequence FROM penstock_state)),
        ready = ready + EXISTS (SELECT 1 FROM penstock_arrived WHERE is_ready),
        blocked = blocked + EXISTS (SELECT 1 FROM penstock_arrived AS log JOIN penstock_blocked AS held
            ON held.queue_id = log.queue_id AND held.sequence = log.sequence),
        kept = kept + NOT EXISTS (SELECT 1 FROM penstock_arrived),
        dropped_total = dropped_total + NOT EXISTS (SELECT 1 FROM penstock_arrived)
        WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue);
END;

INSERT INTO penstock_migration VALUES (30, 'checks', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
