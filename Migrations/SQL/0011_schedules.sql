-- Schedules: messages that are enqueued again and again. No process is in charge: a claim fires what is due in its queue,
-- and so does any process that looks. A firing, its message and the schedule's next due time are one transaction, and
-- next_due only grows, so each firing happens once.

CREATE TABLE penstock_schedule (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    queue_id      INTEGER NOT NULL,
    -- As people write it: '0 3 * * *'.
    spec          TEXT    NOT NULL CHECK (length(CAST(spec AS BLOB)) <= 200),
    -- Of the IANA database.
    zone          TEXT    NOT NULL DEFAULT 'UTC' CHECK (length(CAST(zone AS BLOB)) <= 64),
    -- The message, as in penstock_log.
    payload       BLOB    NOT NULL,
    headers       TEXT,
    priority      INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -100 AND 100),
    attempts_max  INTEGER CHECK (attempts_max BETWEEN 1 AND 1000),
    unique_key    TEXT    CHECK (length(CAST(unique_key AS BLOB)) BETWEEN 1 AND 500),
    on_conflict   TEXT    NOT NULL DEFAULT 'skip' CHECK (on_conflict IN ('skip', 'replace')),
    missed        TEXT    NOT NULL DEFAULT 'one' CHECK (missed IN ('skip', 'one', 'all')),
    -- Durations are microseconds.
    missed_window INTEGER NOT NULL DEFAULT 86400000000 CHECK (missed_window BETWEEN 0 AND 315360000000000),
    jitter        INTEGER NOT NULL DEFAULT 0 CHECK (jitter BETWEEN 0 AND 86400000000),
    starts_at     INTEGER,
    ends_at       INTEGER,
    paused        INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    -- From where a spec such as '@every 90s' counts, unless the schedule has a start.
    anchor        INTEGER NOT NULL,
    -- NULL: the next process reckons it. 9223372036854775807: never.
    next_due      INTEGER,
    -- next_due is the first firing after this moment. NULL: nothing was reckoned yet.
    reckoned_from INTEGER,
    -- Moves with every change but a firing.
    revision      INTEGER NOT NULL DEFAULT 0,
    -- Made of the zone's data that next_due was reckoned with. Another number says that the data has changed.
    zone_data     INTEGER,
    fired_total   INTEGER NOT NULL DEFAULT 0,
    missed_total  INTEGER NOT NULL DEFAULT 0,
    -- Why it does not fire.
    problem       TEXT
) STRICT;
CREATE INDEX penstock_schedule_due ON penstock_schedule (queue_id, paused, next_due);
CREATE INDEX penstock_schedule_next ON penstock_schedule (paused, next_due);

-- What has fired; the last hundred of each schedule are kept.
CREATE TABLE penstock_firing (
    schedule_id INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    fired_at    INTEGER NOT NULL,
    outcome     TEXT    NOT NULL CHECK (outcome IN ('enqueued', 'skipped', 'queueFull', 'byHand')),
    sequence    INTEGER,
    PRIMARY KEY (schedule_id, due)
) STRICT, WITHOUT ROWID;

-- Processes keep in memory which queues have schedules, as they keep policies.
CREATE TRIGGER penstock_schedule_inserted AFTER INSERT ON penstock_schedule BEGIN
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_schedule_moved AFTER UPDATE OF queue_id ON penstock_schedule BEGIN
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_schedule_deleted AFTER DELETE ON penstock_schedule BEGIN
    DELETE FROM penstock_firing WHERE schedule_id = OLD.id;
    UPDATE penstock_state SET policy_version = policy_version + 1;
END;
CREATE TRIGGER penstock_queue_deleted_schedules AFTER DELETE ON penstock_queue BEGIN
    DELETE FROM penstock_schedule WHERE queue_id = OLD.id;
END;

-- Public, as the views of 0004_views.sql: names and columns stay. Durations are seconds here.
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
    schedule.problem
FROM penstock_schedule AS schedule
JOIN penstock_queue AS queue ON queue.id = schedule.queue_id;

CREATE VIEW penstock_firings AS
SELECT
    schedule.name AS schedule,
    strftime('%Y-%m-%dT%H:%M:%S', firing.due / 1000000, 'unixepoch')
        || printf('.%06dZ', firing.due % 1000000) AS due,
    strftime('%Y-%m-%dT%H:%M:%S', firing.fired_at / 1000000, 'unixepoch')
        || printf('.%06dZ', firing.fired_at % 1000000) AS fired_at,
    firing.outcome,
    firing.sequence
FROM penstock_firing AS firing
JOIN penstock_schedule AS schedule ON schedule.id = firing.schedule_id;

-- What an INSERT and an UPDATE of penstock_schedules check alike, as the INSERT of a message does. It holds no rows.
CREATE VIEW penstock_schedule_check AS SELECT NULL AS headers, NULL AS unique_key WHERE 0;
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
            OR instr(CAST(NEW.unique_key AS BLOB), x'00') > 0);
END;

-- A plain INSERT is a proper schedule:
--
--   INSERT INTO penstock_schedules (name, queue, spec, payload) VALUES ('nightly', 'mail', '0 3 * * *', 'report');
--
-- Columns: name, queue, spec, payload; and if wanted zone, headers, priority, attempts_max, unique_key, missed,
-- missed_window and jitter (seconds), starts_at, ends_at (ISO 8601 text), paused. Others are ignored. SQL knows no specs and
-- no zones: the next process that looks reckons when it is due, and says in the column problem what is wrong.
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
    SELECT RAISE(ABORT, 'penstock: starts_at and ends_at must be ISO 8601 text, in this order')
        WHERE NEW.starts_at IS NOT NULL AND (julianday(NEW.starts_at) IS NULL
            OR NEW.starts_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*')
        OR NEW.ends_at IS NOT NULL AND (julianday(NEW.ends_at) IS NULL
            OR NEW.ends_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*')
        OR julianday(NEW.ends_at) < julianday(NEW.starts_at);
    INSERT INTO penstock_schedule (name, queue_id, spec, zone, payload, headers, priority, attempts_max, unique_key,
        missed, missed_window, jitter, starts_at, ends_at, paused, anchor)
    SELECT NEW.name, queue.id, NEW.spec, coalesce(NEW.zone, 'UTC'), CAST(NEW.payload AS BLOB), NEW.headers,
        coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key, coalesce(NEW.missed, 'one'),
        CAST(coalesce(NEW.missed_window, 86400) * 1000000 AS INTEGER), CAST(coalesce(NEW.jitter, 0) * 1000000 AS INTEGER),
        CAST(strftime('%s', NEW.starts_at) AS INTEGER) * 1000000, CAST(strftime('%s', NEW.ends_at) AS INTEGER) * 1000000,
        coalesce(NEW.paused, 0), (SELECT now FROM penstock_now)
    FROM penstock_queue AS queue WHERE queue.name = NEW.queue;
END;

-- What can be changed: queue, spec, zone, payload, headers, priority, attempts_max, unique_key, missed, missed_window, jitter,
-- paused. It fires from now on, by what it says then.
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
    UPDATE penstock_schedule SET
        queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue), spec = NEW.spec, zone = NEW.zone,
        payload = CASE WHEN NEW.payload IS OLD.payload THEN payload ELSE CAST(NEW.payload AS BLOB) END,
        headers = NEW.headers, priority = NEW.priority, attempts_max = NEW.attempts_max, unique_key = NEW.unique_key,
        missed = NEW.missed, missed_window = CAST(NEW.missed_window * 1000000 AS INTEGER),
        jitter = CAST(NEW.jitter * 1000000 AS INTEGER), paused = NEW.paused,
        next_due = NULL, problem = NULL, revision = revision + 1
    WHERE name = OLD.name;
END;

CREATE TRIGGER penstock_schedules_delete INSTEAD OF DELETE ON penstock_schedules BEGIN
    DELETE FROM penstock_schedule WHERE name = OLD.name;
END;

INSERT INTO penstock_migration VALUES (11, 'schedules', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
