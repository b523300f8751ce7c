-- A plain INSERT is a proper enqueue, from any program that can open the file:
--
--   INSERT INTO penstock_messages (queue, payload) VALUES ('mail', 'hello');
--
-- Columns: queue, payload; and if wanted headers (a JSON object of strings), priority, due_at (ISO 8601, or
-- microseconds as an integer), attempts_max, unique_key. The queue's capacity and overflow policy hold, with
-- the same rows as an enqueue by program; plain SQL cannot wait, so 'wait' fails like 'fail'.

CREATE VIEW penstock_now AS
SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000000
    + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000 AS now;

-- For each queue the waiting message that dropOldest would drop: the ready one with the lowest sequence number
-- or, when none is ready, the scheduled one that is due first. Most queues know one priority only, and then the
-- first row is the oldest; only a mixture needs the search.
CREATE VIEW penstock_oldest_waiting AS
SELECT queue.name AS queue, queue.id AS queue_id, queue.when_full, queue.capacity,
    depth.ready + depth.scheduled AS waiting, 1 AS is_ready,
    ready.sequence, ready.priority, ready.attempt, ready.keyed
FROM penstock_queue AS queue
JOIN penstock_depth AS depth ON depth.queue_id = queue.id
JOIN penstock_log AS log ON log.sequence = CASE
    WHEN (SELECT priority FROM penstock_ready AS r WHERE r.queue_id = queue.id ORDER BY priority DESC LIMIT 1)
        = (SELECT priority FROM penstock_ready AS r WHERE r.queue_id = queue.id ORDER BY priority LIMIT 1)
    THEN (SELECT sequence FROM penstock_ready AS r WHERE r.queue_id = queue.id
        ORDER BY priority DESC, sequence LIMIT 1)
    ELSE (SELECT min(sequence) FROM penstock_ready AS r WHERE r.queue_id = queue.id) END
JOIN penstock_ready AS ready ON ready.queue_id = queue.id AND ready.priority = log.priority
    AND ready.sequence = log.sequence
WHERE depth.ready > 0
UNION ALL
SELECT queue.name, queue.id, queue.when_full, queue.capacity,
    depth.ready + depth.scheduled, 0,
    scheduled.sequence, scheduled.priority, scheduled.attempt, scheduled.keyed
FROM penstock_queue AS queue
JOIN penstock_depth AS depth ON depth.queue_id = queue.id
JOIN penstock_scheduled AS scheduled ON scheduled.sequence = (SELECT sequence FROM penstock_scheduled AS s
    WHERE s.queue_id = queue.id ORDER BY due_at, sequence LIMIT 1)
WHERE depth.ready = 0;

CREATE TRIGGER penstock_messages_insert INSTEAD OF INSERT ON penstock_messages BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no queue of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_queue WHERE name = NEW.queue);
    SELECT RAISE(ABORT, 'penstock: payload must be given')
        WHERE NEW.payload IS NULL;
    SELECT RAISE(ABORT, 'penstock: payload has more than 16777216 bytes (payloadBytesMax)')
        WHERE length(CAST(NEW.payload AS BLOB)) > 16777216;
    SELECT RAISE(ABORT, 'penstock: priority must be an integer from -100 to 100')
        WHERE NEW.priority IS NOT NULL
        AND (typeof(NEW.priority) <> 'integer' OR NEW.priority NOT BETWEEN -100 AND 100);
    SELECT RAISE(ABORT, 'penstock: attempts_max must be an integer from 1 to 1000')
        WHERE NEW.attempts_max IS NOT NULL
        AND (typeof(NEW.attempts_max) <> 'integer' OR NEW.attempts_max NOT BETWEEN 1 AND 1000);
    SELECT RAISE(ABORT, 'penstock: headers must be a JSON object of strings')
        WHERE NEW.headers IS NOT NULL AND (NOT json_valid(NEW.headers) OR json_type(NEW.headers) <> 'object'
        OR EXISTS (SELECT 1 FROM json_each(NEW.headers) WHERE type <> 'text'));
    SELECT RAISE(ABORT, 'penstock: due_at must be ISO 8601 text or integer microseconds')
        WHERE NEW.due_at IS NOT NULL AND typeof(NEW.due_at) <> 'integer'
        AND (typeof(NEW.due_at) <> 'text' OR julianday(NEW.due_at) IS NULL);
    SELECT RAISE(ABORT, 'penstock: unique_key must have 1 to 500 bytes')
        WHERE NEW.unique_key IS NOT NULL AND length(CAST(NEW.unique_key AS BLOB)) NOT BETWEEN 1 AND 500;
    SELECT RAISE(ABORT, 'penstock: a message with that unique_key waits or runs already')
        WHERE EXISTS (SELECT 1 FROM penstock_unique JOIN penstock_queue ON id = queue_id
            WHERE name = NEW.queue AND unique_key = NEW.unique_key);
    SELECT RAISE(ABORT, 'penstock: the queue is full')
        WHERE EXISTS (SELECT 1 FROM penstock_queue JOIN penstock_depth ON queue_id = id
            WHERE name = NEW.queue AND when_full IN ('fail', 'wait') AND ready + scheduled >= capacity);

    UPDATE penstock_state SET last_sequence = last_sequence + 1;

    -- dropOldest, and no room: the oldest ready message goes, else the scheduled one that is due first.
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT queue_id, sequence, 'dropped', 'dropOldest', attempt, now
        FROM penstock_oldest_waiting, penstock_now
        WHERE queue = NEW.queue AND when_full = 'dropOldest' AND waiting >= capacity;
    DELETE FROM penstock_unique WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue)
        AND unique_key = (SELECT log.unique_key FROM penstock_oldest_waiting AS oldest
            JOIN penstock_log AS log ON log.sequence = oldest.sequence
            JOIN penstock_outcome AS outcome
                ON outcome.queue_id = oldest.queue_id AND outcome.sequence = oldest.sequence
            WHERE oldest.queue = NEW.queue AND oldest.keyed = 1);
    UPDATE penstock_depth SET
        ready = ready - (SELECT is_ready FROM penstock_oldest_waiting AS oldest
            WHERE oldest.queue = NEW.queue),
        scheduled = scheduled - (SELECT 1 - is_ready FROM penstock_oldest_waiting AS oldest
            WHERE oldest.queue = NEW.queue),
        kept = kept + 1, dropped_total = dropped_total + 1
        WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue)
        AND EXISTS (SELECT 1 FROM penstock_oldest_waiting AS oldest
            JOIN penstock_outcome AS outcome
                ON outcome.queue_id = oldest.queue_id AND outcome.sequence = oldest.sequence
            WHERE oldest.queue = NEW.queue);
    -- What has an outcome leaves the line; only a message just dropped can be in both.
    DELETE FROM penstock_scheduled WHERE sequence = (SELECT oldest.sequence FROM penstock_oldest_waiting AS oldest
        JOIN penstock_outcome AS outcome
            ON outcome.queue_id = oldest.queue_id AND outcome.sequence = oldest.sequence
        WHERE oldest.queue = NEW.queue AND oldest.is_ready = 0);
    DELETE FROM penstock_ready WHERE (queue_id, priority, sequence) = (
        SELECT oldest.queue_id, oldest.priority, oldest.sequence FROM penstock_oldest_waiting AS oldest
        JOIN penstock_outcome AS outcome
            ON outcome.queue_id = oldest.queue_id AND outcome.sequence = oldest.sequence
        WHERE oldest.queue = NEW.queue AND oldest.is_ready = 1);

    INSERT INTO penstock_log
        (sequence, queue_id, enqueued_at, priority, attempts_max, unique_key, headers, payload)
        SELECT last_sequence, queue.id, now, coalesce(NEW.priority, 0), NEW.attempts_max, NEW.unique_key,
            NEW.headers, CAST(NEW.payload AS BLOB)
        FROM penstock_state, penstock_now, penstock_queue AS queue WHERE queue.name = NEW.queue;

    -- dropNewest, and no room: the arriving message goes on record, and no further.
    INSERT INTO penstock_outcome (queue_id, sequence, state, reason, attempt, finished_at)
        SELECT penstock_queue.id, last_sequence, 'dropped', 'dropNewest', 0, now
        FROM penstock_state, penstock_now, penstock_queue JOIN penstock_depth ON queue_id = penstock_queue.id
        WHERE name = NEW.queue AND when_full = 'dropNewest' AND ready + scheduled >= capacity;

    INSERT INTO penstock_unique (queue_id, unique_key, sequence)
        SELECT log.queue_id, log.unique_key, log.sequence FROM penstock_state
        JOIN penstock_log AS log ON log.sequence = last_sequence
        WHERE log.unique_key IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence);
    INSERT INTO penstock_scheduled (sequence, queue_id, due_at, priority, attempt, forgiven, keyed)
        SELECT log.sequence, log.queue_id, due, log.priority, 0, 0, log.unique_key IS NOT NULL
        FROM (SELECT CASE typeof(NEW.due_at) WHEN 'integer' THEN NEW.due_at ELSE
            CAST(strftime('%s', NEW.due_at) AS INTEGER) * 1000000
            + CAST(substr(strftime('%f', NEW.due_at), 4) AS INTEGER) * 1000 END AS due)
        JOIN penstock_state JOIN penstock_log AS log ON log.sequence = last_sequence
        WHERE due > log.enqueued_at
        AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence);
    INSERT INTO penstock_ready (queue_id, priority, sequence, attempt, forgiven, keyed)
        SELECT log.queue_id, log.priority, log.sequence, 0, 0, log.unique_key IS NOT NULL
        FROM penstock_state JOIN penstock_log AS log ON log.sequence = last_sequence
        WHERE NOT EXISTS (SELECT 1 FROM penstock_scheduled AS scheduled WHERE scheduled.sequence = log.sequence)
        AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS outcome
            WHERE outcome.queue_id = log.queue_id AND outcome.sequence = log.sequence);

    UPDATE penstock_depth SET
        enqueued_total = enqueued_total + 1,
        scheduled = scheduled + EXISTS (SELECT 1 FROM penstock_scheduled
            WHERE sequence = (SELECT last_sequence FROM penstock_state)),
        ready = ready + EXISTS (SELECT 1 FROM penstock_ready AS ready JOIN penstock_state
            JOIN penstock_log AS log ON log.sequence = last_sequence
            WHERE ready.queue_id = log.queue_id AND ready.priority = log.priority
            AND ready.sequence = log.sequence),
        kept = kept + EXISTS (SELECT 1 FROM penstock_outcome AS outcome JOIN penstock_state
            WHERE outcome.queue_id = penstock_depth.queue_id AND outcome.sequence = last_sequence),
        dropped_total = dropped_total + EXISTS (SELECT 1 FROM penstock_outcome AS outcome JOIN penstock_state
            WHERE outcome.queue_id = penstock_depth.queue_id AND outcome.sequence = last_sequence)
        WHERE queue_id = (SELECT id FROM penstock_queue WHERE name = NEW.queue);
END;

INSERT INTO penstock_migration VALUES (5, 'insert', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
