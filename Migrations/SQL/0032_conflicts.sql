-- In SQLite what a statement says of conflicts (`INSERT OR FAIL INTO penstock_messages`) replaces what the statements of its triggers say,
-- and not an ON CONFLICT at their end. So each trigger has that: a group was noted a second time, and half of the message stayed.
-- Otherwise the triggers are as they were made last. One has another name: by that a file which has lost the row of this step is known.

DROP TRIGGER penstock_task_dropped;
CREATE TRIGGER penstock_dropped_task AFTER UPDATE OF dropping ON penstock_state WHEN NEW.dropping IS NOT NULL BEGIN
    INSERT INTO penstock_cascade (workflow_id, sequence, after)
        SELECT 0, sequence, 0 FROM penstock_task WHERE sequence = NEW.dropping
        ON CONFLICT (workflow_id, sequence) DO UPDATE SET after = 0;
    DELETE FROM penstock_awaited WHERE sequence = NEW.dropping;
END;

DROP TRIGGER penstock_queue_grouped;
CREATE TRIGGER penstock_queue_grouped AFTER UPDATE OF fifo, limit_per_key ON penstock_queue
WHEN OLD.fifo = 0 AND OLD.limit_per_key IS NULL AND (NEW.fifo OR NEW.limit_per_key IS NOT NULL) BEGIN
    INSERT INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_ready AS ready JOIN penstock_log AS log ON log.sequence = ready.sequence
        WHERE ready.queue_id = NEW.id AND ready.marks & 8 AND log.group_key IS NOT NULL
        UNION ALL SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_lease AS lease JOIN penstock_log AS log ON log.sequence = lease.sequence
        WHERE lease.queue_id = NEW.id AND lease.marks & 8 AND log.group_key IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT DISTINCT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        ON CONFLICT DO NOTHING;
END;
DROP TRIGGER penstock_group_paused;
CREATE TRIGGER penstock_group_paused AFTER INSERT ON penstock_group_pause BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key) VALUES (NEW.queue_id, NEW.group_key) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER penstock_group_resumed;
CREATE TRIGGER penstock_group_resumed AFTER DELETE ON penstock_group_pause BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key) VALUES (OLD.queue_id, OLD.group_key) ON CONFLICT DO NOTHING;
END;

DROP TRIGGER penstock_queue_fair;
CREATE TRIGGER penstock_queue_fair AFTER UPDATE OF fair ON penstock_queue WHEN NEW.fair AND NOT OLD.fair BEGIN
    INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1) ON CONFLICT DO NOTHING;
END;
DROP TRIGGER penstock_queue_fair_inserted;
CREATE TRIGGER penstock_queue_fair_inserted AFTER INSERT ON penstock_queue WHEN NEW.fair BEGIN
    INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1) ON CONFLICT DO NOTHING;
END;

DROP TRIGGER penstock_queue_regroup;
CREATE TRIGGER penstock_queue_regroup AFTER UPDATE OF fifo, on_dead, limit_per_key ON penstock_queue
WHEN NEW.fifo <> OLD.fifo OR NEW.on_dead <> OLD.on_dead OR NEW.limit_per_key IS NOT OLD.limit_per_key BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL
        ON CONFLICT DO NOTHING;
END;
DROP TRIGGER penstock_queue_key_rate;
CREATE TRIGGER penstock_queue_key_rate AFTER UPDATE OF key_rate_count, key_rate_period, key_rate_burst ON penstock_queue
WHEN NEW.key_rate_count IS NOT OLD.key_rate_count OR NEW.key_rate_period IS NOT OLD.key_rate_period
    OR NEW.key_rate_burst <> OLD.key_rate_burst BEGIN
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL
        ON CONFLICT DO NOTHING;
END;

DROP TRIGGER penstock_message_dropped;
CREATE TRIGGER penstock_message_dropped AFTER UPDATE OF dropping ON penstock_state WHEN NEW.dropping IS NOT NULL BEGIN
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'dropped', 'dropOldest', attempt, now FROM penstock_dropping JOIN penstock_now;
    DELETE FROM penstock_unique
        WHERE (queue_id, unique_key, sequence) = (SELECT queue_id, unique_key, sequence FROM penstock_dropping);
    UPDATE penstock_depth SET kept = kept + 1, dropped_total = dropped_total + 1, (ready, scheduled, blocked)
        = (SELECT ready - is_ready, scheduled - is_scheduled, blocked - is_blocked FROM penstock_dropping)
        WHERE queue_id = (SELECT queue_id FROM penstock_dropping);
    -- It has not started, so its turn is its group's again.
    UPDATE penstock_share SET (again_turn, next_turn) = (SELECT max(0, again_turn - again * step),
            max(max(0, again_turn - again * step), next_turn - step) FROM penstock_dropping)
        WHERE (queue_id, priority, group_key) = (SELECT gone.queue_id, gone.priority, gone.share_key
            FROM penstock_dropping AS gone CROSS JOIN penstock_queue AS queue ON queue.id = gone.queue_id
            WHERE queue.fair AND gone.is_ready);
    DELETE FROM penstock_ready WHERE (queue_id, priority, turn, sequence)
        = (SELECT queue_id, priority, turn, sequence FROM penstock_dropping);
    DELETE FROM penstock_scheduled WHERE sequence = NEW.dropping;
    DELETE FROM penstock_expiry WHERE sequence = NEW.dropping;
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (SELECT queue_id, sequence FROM penstock_dropping);
    -- Its permit goes to the next one of its group, if that is not in order and may start by all that is known without a boot clock.
    UPDATE penstock_permit SET sequence = (SELECT blocked.sequence FROM penstock_blocked AS blocked
            WHERE (blocked.queue_id, blocked.group_key) = (penstock_permit.queue_id, penstock_permit.group_key)
            ORDER BY blocked.priority DESC, blocked.sequence LIMIT 1)
        WHERE (queue_id, group_key, sequence) = (SELECT gone.queue_id, gone.group_key, gone.sequence
            FROM penstock_dropping AS gone CROSS JOIN penstock_queue AS queue ON queue.id = gone.queue_id
            WHERE queue.limit_per_key IS NOT NULL AND queue.key_rate_count IS NULL
            AND NOT EXISTS (SELECT 1 FROM penstock_fair AS fair WHERE fair.queue_id = queue.id
                UNION SELECT 1 FROM penstock_group_rate AS held WHERE (held.queue_id, held.group_key) = (gone.queue_id, gone.group_key)
                UNION SELECT 1 FROM penstock_regroup AS noted WHERE (noted.queue_id, noted.group_key) = (gone.queue_id, gone.group_key)))
        AND EXISTS (SELECT 1 FROM penstock_blocked AS blocked
            WHERE (blocked.queue_id, blocked.group_key) = (penstock_permit.queue_id, penstock_permit.group_key));
    INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
        SELECT queue_id, priority, turn, sequence, attempt, forgiven, marks FROM penstock_dropped_next;
    UPDATE penstock_depth SET ready = ready + 1, blocked = blocked - 1 WHERE queue_id = (SELECT queue_id FROM penstock_dropped_next);
    DELETE FROM penstock_blocked WHERE (queue_id, sequence) = (SELECT queue_id, sequence FROM penstock_dropped_next);
    -- Otherwise it is free, and the next claim gives it to another one.
    INSERT INTO penstock_regroup (queue_id, group_key) SELECT queue_id, group_key FROM penstock_permit
        WHERE (queue_id, group_key, sequence) = (SELECT queue_id, group_key, sequence FROM penstock_dropping)
        ON CONFLICT DO NOTHING;
    DELETE FROM penstock_permit
        WHERE (queue_id, group_key, sequence) = (SELECT queue_id, group_key, sequence FROM penstock_dropping);
END;

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
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT log.queue_id, log.group_key FROM penstock_arrived AS log JOIN penstock_queue AS queue ON queue.id = log.queue_id
        JOIN penstock_blocked AS blocked ON blocked.queue_id = log.queue_id AND blocked.sequence = log.sequence
        WHERE queue.key_rate_count IS NOT NULL OR EXISTS (SELECT 1 FROM penstock_group_rate AS held
            WHERE held.queue_id = log.queue_id AND held.group_key = log.group_key)
        ON CONFLICT DO NOTHING;
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

INSERT INTO penstock_migration VALUES (32, 'conflicts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
