-- When the messages of schedules may start, by plain SQL: their groups, how long their keys hold, when they expire.

-- As in 0011_schedules.sql, with the new columns at the end. Durations are seconds.
DROP VIEW penstock_schedules;
CREATE VIEW penstock_schedules AS
SELECT
    schedule.name,
    queue.name AS queue,
    schedule.spec,
    schedule.zone,
    CAST(schedule.payload AS TEXT) AS payload,
    schedule.headers,
    schedule.priority,
    schedule.attempts_max,
    schedule.unique_key,
    schedule.missed,
    schedule.missed_window / 1000000.0 AS missed_window,
    schedule.jitter / 1000000.0 AS jitter,
    strftime('%Y-%m-%dT%H:%M:%S', schedule.starts_at / 1000000, 'unixepoch')
        || printf('.%06dZ', schedule.starts_at % 1000000) AS starts_at,
    strftime('%Y-%m-%dT%H:%M:%S', schedule.ends_at / 1000000, 'unixepoch')
        || printf('.%06dZ', schedule.ends_at % 1000000) AS ends_at,
    schedule.paused,
    CASE WHEN schedule.paused = 0 AND schedule.next_due < 9223372036854775807 THEN
        strftime('%Y-%m-%dT%H:%M:%S', schedule.next_due / 1000000, 'unixepoch')
            || printf('.%06dZ', schedule.next_due % 1000000) END AS next_due,
    schedule.fired_total,
    schedule.missed_total,
    schedule.problem,
    schedule.group_key,
    schedule.key_scope / 1000000.0 AS key_scope,
    schedule.expires_after / 1000000.0 AS expires_after
FROM penstock_schedule AS schedule
JOIN penstock_queue AS queue ON queue.id = schedule.queue_id;

-- What an INSERT and an UPDATE check alike, beside penstock_schedule_check. It holds no rows.
CREATE VIEW penstock_schedule_start_check AS
    SELECT NULL AS queue, NULL AS unique_key, NULL AS group_key, NULL AS key_scope, NULL AS expires_after WHERE 0;
CREATE TRIGGER penstock_schedule_start_checked INSTEAD OF INSERT ON penstock_schedule_start_check BEGIN
    SELECT RAISE(ABORT, 'penstock: group_key must be text of 1 to 500 bytes, none of them zero')
        WHERE NEW.group_key IS NOT NULL AND (typeof(NEW.group_key) <> 'text'
            OR length(CAST(NEW.group_key AS BLOB)) NOT BETWEEN 1 AND 500
            OR instr(CAST(NEW.group_key AS BLOB), x'00') > 0);
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

-- As in 0011_schedules.sql, with the columns group_key, key_scope and expires_after.
CREATE TRIGGER penstock_schedules_insert INSTEAD OF INSERT ON penstock_schedules BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: name must be text of 1 to 200 bytes, without control characters')
        WHERE typeof(NEW.name) <> 'text' OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 200
        OR NEW.name <> trim(NEW.name) OR instr(CAST(NEW.name AS BLOB), x'00') > 0
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
            OR NEW.starts_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*')
        OR NEW.ends_at IS NOT NULL AND (julianday(NEW.ends_at) IS NULL
            OR NEW.ends_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*')
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

-- What can be changed, besides what 0011_schedules.sql names: group_key, key_scope and expires_after.
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
        next_due = NULL, problem = NULL, revision = revision + 1
    WHERE name = OLD.name;
END;

CREATE TRIGGER penstock_schedules_delete INSTEAD OF DELETE ON penstock_schedules BEGIN
    DELETE FROM penstock_schedule WHERE name = OLD.name;
END;

INSERT INTO penstock_migration VALUES (22, 'schedule_starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
