-- What waits for its time is seen to when that changes; work that has begun goes first; a plain INSERT looks through no group.

-- As in 0014_groups.sql and 0019_starts.sql. A group that waits for its time may have nothing in line, and would go on waiting.
DROP TRIGGER penstock_queue_regroup;
CREATE TRIGGER penstock_queue_regroup AFTER UPDATE OF fifo, on_dead, limit_per_key ON penstock_queue
WHEN NEW.fifo <> OLD.fifo OR NEW.on_dead <> OLD.on_dead OR NEW.limit_per_key IS NOT OLD.limit_per_key BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL;
END;
DROP TRIGGER penstock_queue_key_rate;
CREATE TRIGGER penstock_queue_key_rate AFTER UPDATE OF key_rate_count, key_rate_period, key_rate_burst ON penstock_queue
WHEN NEW.key_rate_count IS NOT OLD.key_rate_count OR NEW.key_rate_period IS NOT OLD.key_rate_period
    OR NEW.key_rate_burst <> OLD.key_rate_burst BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL;
END;
INSERT OR IGNORE INTO penstock_regroup SELECT queue_id, group_key FROM penstock_group_rate WHERE opens_at IS NOT NULL;

-- A further mark, beside those of 0019_starts.sql:
--   512  it is blocked, and goes first of its group, which is in order: it had the permit, and its work has begun
CREATE INDEX penstock_blocked_first ON penstock_blocked (queue_id, group_key, sequence) WHERE marks & 512;

-- The message that has the permit of one that a plain INSERT has just dropped, and is blocked still.
CREATE VIEW penstock_dropped_next AS
SELECT blocked.queue_id, blocked.priority, log.turn, blocked.sequence, blocked.attempt, blocked.forgiven,
    blocked.marks & ~512 AS marks FROM penstock_state CROSS JOIN penstock_log AS dropped ON dropped.sequence = dropping
CROSS JOIN penstock_permit AS permit ON permit.queue_id = dropped.queue_id AND permit.group_key = dropped.group_key
CROSS JOIN penstock_blocked AS blocked ON blocked.queue_id = permit.queue_id AND blocked.sequence = permit.sequence
CROSS JOIN penstock_log AS log ON log.sequence = blocked.sequence;

-- As in 0021_start_insert.sql, but that a permit is given on without a look through the group, or by the next claim.
DROP TRIGGER penstock_messages_insert;
CREATE TRIGGER penstock_messages_insert INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: payload must be given') WHERE NEW.payload IS NULL;
    SELECT RAISE(ABORT, 'penstock: payload has more than 16777216 bytes (payloadBytesMax)')
        WHERE length(CAST(NEW.payload AS BLOB)) > 16777216;
    SELECT RAISE(ABORT, 'penstock: priority must be an integer from -100 to 100')
        WHERE NEW.priority IS NOT NULL
        AND (typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -100 AND 100);
    SELECT RAISE(ABORT, 'penstock: attempts_max must be an integer from 1 to 1000')
        WHERE NEW.attempts_max IS NOT NULL
        AND (typeof(NEW.attempts_max) <> 'integer' OR NEW.attempts_max NOT BETWEEN 1 AND 1000);
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
    -- Not asked of the values: SQLite ends a JSON string at its first zero byte.
    SELECT RAISE(ABORT, 'penstock: headers cannot hold zero bytes')
        WHERE instr(replace(NEW.headers, '\\', ''), '\u0000') > 0;
    SELECT RAISE(ABORT, 'penstock: due_at must be ISO 8601 text or integer microseconds')
        WHERE NEW.due_at IS NOT NULL AND typeof(NEW.due_at) <> 'integer' AND (typeof(NEW.due_at) <> 'text'
            OR NEW.due_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' OR julianday(NEW.due_at) IS NULL);
    SELECT RAISE(ABORT, 'penstock: due_at cannot be more than ten years ahead')
        WHERE CASE typeof(NEW.due_at)
            WHEN 'integer' THEN NEW.due_at > (SELECT now + 315360000000000 FROM penstock_now)
            WHEN 'text' THEN julianday(NEW.due_at) > julianday('now') + 3650 END;
    SELECT RAISE(ABORT, 'penstock: unique_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.unique_key IS NOT NULL AND (typeof(NEW.unique_key) <> 'text'
            OR length(CAST(NEW.unique_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.unique_key AS BLOB), x'00') > 0);
    SELECT RAISE(ABORT, 'penstock: group_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.group_key IS NOT NULL AND (typeof(NEW.group_key) <> 'text'
            OR length(CAST(NEW.group_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.group_key AS BLOB), x'00') > 0);
    SELECT RAISE(ABORT, 'penstock: the queue has no groups')
        WHERE NEW.group_key IS NOT NULL
        AND EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue AND fifo = 0 AND limit_per_key IS NULL AND fair = 0);
    SELECT RAISE(ABORT, 'penstock: expires_at must be ISO 8601 text or integer microseconds')
        WHERE NEW.expires_at IS NOT NULL AND typeof(NEW.expires_at) <> 'integer' AND (typeof(NEW.expires_at) <> 'text'
            OR NEW.expires_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' OR julianday(NEW.expires_at) IS NULL);
    SELECT RAISE(ABORT, 'penstock: expires_at cannot be before 1970')
        WHERE CASE typeof(NEW.expires_at)
            WHEN 'integer' THEN NEW.expires_at < 0
            WHEN 'text' THEN julianday(NEW.expires_at) < julianday('1970-01-01') END;
    SELECT RAISE(ABORT, 'penstock: expires_at cannot be more than ten years ahead')
        WHERE CASE typeof(NEW.expires_at)
            WHEN 'integer' THEN NEW.expires_at > (SELECT now + 315360000000000 FROM penstock_now)
            WHEN 'text' THEN julianday(NEW.expires_at) > julianday('now') + 3650 END;
    SELECT RAISE(ABORT, 'penstock: key_scope must be NULL, 0 or 1000 to 31622400000000 microseconds, with a unique_key')
        WHERE NEW.key_scope IS NOT NULL AND (NEW.unique_key IS NULL OR typeof(NEW.key_scope) <> 'integer'
            OR NEW.key_scope <> 0 AND NEW.key_scope NOT BETWEEN 1000 AND 31622400000000);
    SELECT RAISE(ABORT, 'penstock: a message with that unique_key waits or runs already')
        WHERE EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_unique AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key WHERE queue.name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: a message with that unique_key holds it still')
        WHERE EXISTS (SELECT 1 FROM penstock_queue AS queue JOIN penstock_now JOIN penstock_unique_period AS held
            ON held.queue_id = queue.id AND held.unique_key = NEW.unique_key
            WHERE queue.name = NEW.queue AND held.until > now);
    SELECT RAISE(ABORT, 'penstock: the queue is full')
        WHERE EXISTS (SELECT 1 FROM penstock_queue JOIN penstock_depth ON queue_id = id
            WHERE name = NEW.queue AND when_full IN ('fail', 'wait') AND ready + blocked + scheduled >= capacity);

    -- dropOldest, and no room: the oldest waiting message goes. Which one that is, is settled here, once: the
    -- statements that carry it out change the answer.
    UPDATE penstock_state SET last_sequence = last_sequence + 1, dropping = (
        SELECT oldest.sequence FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id
        JOIN penstock_oldest_waiting AS oldest ON oldest.queue_id = queue.id
        WHERE queue.name = NEW.queue AND queue.when_full = 'dropOldest'
        AND depth.ready + depth.blocked + depth.scheduled >= queue.capacity);
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT log.queue_id, log.sequence, 'dropped', 'dropOldest',
            coalesce(ready.attempt, scheduled.attempt, blocked.attempt), now
        FROM penstock_state JOIN penstock_now JOIN penstock_log AS log ON log.sequence = dropping
        LEFT JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
            AND ready.turn = log.turn AND ready.sequence = log.sequence
        LEFT JOIN penstock_scheduled AS scheduled ON scheduled.sequence = log.sequence
        LEFT JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence;
    DELETE FROM penstock_unique WHERE (queue_id, unique_key) = (SELECT log.queue_id, log.unique_key
            FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping)
        AND sequence = (SELECT dropping FROM penstock_state);
    UPDATE penstock_depth SET
        scheduled = scheduled - EXISTS (SELECT 1 FROM penstock_state JOIN penstock_scheduled ON sequence = dropping),
        ready = ready - EXISTS (SELECT 1 FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping
            JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
                AND ready.turn = log.turn AND ready.sequence = log.sequence),
        blocked = blocked - EXISTS (SELECT 1 FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping
            JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence),
        kept = kept + 1, dropped_total = dropped_total + 1
        WHERE queue_id = (SELECT log.queue_id FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping);
    -- It has not started, so its turn is its group's again.
    UPDATE penstock_share SET
        again_turn = CASE WHEN gone.again THEN max(0, again_turn - gone.step) ELSE again_turn END,
        next_turn = max(CASE WHEN gone.again THEN max(0, again_turn - gone.step) ELSE again_turn END, next_turn - gone.step)
        FROM (SELECT log.queue_id, log.priority, coalesce(log.group_key, '') AS group_key, ready.attempt > ready.forgiven AS again,
                1000000 / coalesce((SELECT weight FROM penstock_weight AS weight
                    WHERE weight.queue_id = log.queue_id AND weight.group_key = coalesce(log.group_key, '')), 1) AS step
            FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping
            JOIN penstock_queue AS queue ON queue.id = log.queue_id
            JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
                AND ready.turn = log.turn AND ready.sequence = log.sequence
            WHERE queue.fair) AS gone
        WHERE (penstock_share.queue_id, penstock_share.priority, penstock_share.group_key)
            = (gone.queue_id, gone.priority, gone.group_key);
    DELETE FROM penstock_ready WHERE (queue_id, priority, turn, sequence) = (SELECT log.queue_id, log.priority, log.turn, log.sequence
        FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping);
    DELETE FROM penstock_scheduled WHERE sequence = (SELECT dropping FROM penstock_state);
    DELETE FROM penstock_expiry WHERE sequence = (SELECT dropping FROM penstock_state);
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (
        SELECT log.queue_id, log.sequence FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping);
    -- Its permit goes to the next one of its group, if that is not in order and may start by all that is known without a boot clock.
    UPDATE penstock_permit SET sequence = next.sequence
        FROM (SELECT log.queue_id, log.group_key, dropping, (SELECT sequence FROM penstock_blocked AS blocked
                WHERE blocked.queue_id = log.queue_id AND blocked.group_key = log.group_key
                ORDER BY priority DESC, sequence LIMIT 1) AS sequence
            FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping JOIN penstock_queue AS queue ON queue.id = log.queue_id
            WHERE queue.limit_per_key IS NOT NULL AND queue.key_rate_count IS NULL
            AND NOT EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id
                UNION SELECT 1 FROM penstock_group_rate AS held WHERE (held.queue_id, held.group_key) = (log.queue_id, log.group_key)
                UNION SELECT 1 FROM penstock_regroup AS noted WHERE (noted.queue_id, noted.group_key) = (log.queue_id, log.group_key))
            ) AS next
        WHERE (penstock_permit.queue_id, penstock_permit.group_key, penstock_permit.sequence)
            = (next.queue_id, next.group_key, next.dropping) AND next.sequence IS NOT NULL;
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
        SELECT queue_id, priority, turn, sequence, attempt, forgiven, marks FROM penstock_dropped_next;
    UPDATE penstock_depth SET ready = ready + 1, blocked = blocked - 1 WHERE queue_id = (SELECT queue_id FROM penstock_dropped_next);
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (SELECT queue_id, sequence FROM penstock_dropped_next);
    -- Otherwise it is free, and the next claim gives it to another one.
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key) SELECT queue_id, group_key FROM penstock_state
        JOIN penstock_log AS log ON log.sequence = dropping JOIN penstock_permit AS permit USING (queue_id, group_key, sequence);
    DELETE FROM penstock_permit WHERE (queue_id, group_key, sequence) = (SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_state JOIN penstock_log AS log ON log.sequence = dropping);
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
    SELECT RAISE(ABORT, 'penstock: the message would expire before it is due, and never start')
        FROM (SELECT CASE
            WHEN typeof(NEW.due_at) = 'integer' THEN NEW.due_at
            WHEN instr(NEW.due_at, '.') = 0 THEN CAST(strftime('%s', NEW.due_at) AS INTEGER) * 1000000
            ELSE CAST(strftime('%s', substr(NEW.due_at, 1, instr(NEW.due_at, '.') - 1)
                    || ltrim(substr(NEW.due_at, instr(NEW.due_at, '.') + 1), '0123456789')) AS INTEGER) * 1000000
                + CAST(round(CAST('0.' || substr(NEW.due_at, instr(NEW.due_at, '.') + 1, 6) AS REAL) * 1000000)
                    AS INTEGER)
            END AS due)
        JOIN penstock_state JOIN penstock_log AS log ON log.sequence = last_sequence
        WHERE due > log.enqueued_at AND log.expires_at <= due;

    -- dropNewest, and no room: the arriving message goes on record, and no further.
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT penstock_queue.id, last_sequence, 'dropped', 'dropNewest', 0, now
        FROM penstock_state, penstock_now, penstock_queue JOIN penstock_depth ON queue_id = penstock_queue.id
        WHERE name = NEW.queue AND when_full = 'dropNewest' AND ready + blocked + scheduled >= capacity;

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
        ready = ready + EXISTS (SELECT 1 FROM penstock_ready AS ready JOIN penstock_state
            JOIN penstock_log AS log ON log.sequence = last_sequence
            WHERE ready.queue_id = log.queue_id AND ready.priority = log.priority
            AND ready.turn = log.turn AND ready.sequence = log.sequence),
        blocked = blocked + EXISTS (SELECT 1 FROM penstock_blocked AS blocked JOIN penstock_state
            WHERE blocked.queue_id = penstock_depth.queue_id AND blocked.sequence = last_sequence),
        kept = kept + EXISTS (SELECT 1 FROM penstock_outcome AS outcome JOIN penstock_state
            WHERE outcome.queue_id = penstock_depth.queue_id AND outcome.sequence = last_sequence),
        dropped_total = dropped_total + EXISTS (SELECT 1 FROM penstock_outcome AS outcome JOIN penstock_state
            WHERE outcome.queue_id = penstock_depth.queue_id AND outcome.sequence = last_sequence)
        WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue);
END;

INSERT INTO penstock_migration VALUES (25, 'group_starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
