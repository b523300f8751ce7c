-- Settling by plain SQL: a worker says what has become of its message in a transaction of the application's own, and both are there,
-- or neither.
--
-- What follows from a verdict reaches into most tables: totals, latencies, groups, rates, workflows, limits. That is said once, by the
-- program. So a verdict by SQL is checked and written down here, under the write lock, and every transaction of the program's carries
-- out first of all what it finds here. So nobody sees to a message, or takes it from its worker, after its verdict was committed: the
-- lease is as good as gone. Until then tables and views show it as leased.

CREATE TABLE penstock_verdict (
    sequence    BIGINT NOT NULL,
    -- The claim whose worker says it.
    token       BIGINT NOT NULL,
    verdict     TEXT COLLATE "C" NOT NULL CHECK (verdict IN ('done', 'retry', 'reject', 'release')),
    error       TEXT COLLATE "C",
    -- After how many microseconds the next attempt comes. NULL: as the queue's policy says.
    delay       BIGINT CHECK (delay BETWEEN 0 AND 315360000000000),
    result      BYTEA,
    said_at     BIGINT NOT NULL,
    -- The state in which the message was left. NULL: it was not carried out yet. The row stays for the worker, which settles as well
    -- when its handler or command ends, and is told that.
    state       TEXT COLLATE "C",
    PRIMARY KEY (sequence, token)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_verdict_open ON penstock_verdict (sequence) WHERE state IS NULL;

-- What the functions below have in common.
CREATE FUNCTION penstock_settle(sequence BIGINT, token BIGINT, verdict TEXT, error TEXT, delay BIGINT, result BYTEA) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
    leased penstock_lease;
BEGIN
    PERFORM penstock_write_lock();
    SELECT * INTO leased FROM penstock_lease AS lease
        WHERE lease.sequence = penstock_settle.sequence AND lease.token = penstock_settle.token;
    -- An error, so that it ends the transaction: somebody else has the message, and what was written for it must not stay.
    IF leased.sequence IS NULL OR EXISTS (SELECT 1 FROM penstock_verdict AS said
        WHERE said.sequence = penstock_settle.sequence AND said.token = penstock_settle.token) THEN
        RAISE EXCEPTION USING ERRCODE = 'PN001', MESSAGE = format(
            'penstock: the lease of message %s was lost: it was taken back, cancelled or settled before', penstock_settle.sequence);
    END IF;
    INSERT INTO penstock_verdict (sequence, token, verdict, error, delay, result, said_at)
        VALUES (leased.sequence, leased.token, penstock_settle.verdict, penstock_settle.error, penstock_settle.delay,
            penstock_settle.result, penstock_now());
    -- Its key is free for a message that is enqueued in the same transaction.
    IF leased.marks & 1 <> 0 AND penstock_settle.verdict IN ('done', 'reject') THEN
        DELETE FROM penstock_unique AS held WHERE held.queue_id = leased.queue_id AND held.sequence = leased.sequence
            AND held.unique_key = (SELECT log.unique_key FROM penstock_log AS log WHERE log.sequence = leased.sequence);
        UPDATE penstock_lease AS lease SET marks = lease.marks & ~1::BIGINT WHERE lease.sequence = leased.sequence;
    END IF;
    PERFORM pg_notify('penstock:' || current_schema(), queue.name) FROM penstock_queue AS queue WHERE queue.id = leased.queue_id;
END $$;

-- The message is finished; `result` is what it gave.
CREATE FUNCTION penstock_done(sequence BIGINT, token BIGINT, result BYTEA DEFAULT NULL) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF octet_length(result) > 1048576 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: result has more than 1048576 bytes (resultBytesMax)';
    END IF;
    PERFORM penstock_settle(sequence, token, 'done', NULL, NULL, result);
END $$;

-- The attempt failed: the next one comes after `delay`, or as the queue's policy says; the message is dead when none is left.
CREATE FUNCTION penstock_retry(sequence BIGINT, token BIGINT, error TEXT, delay INTERVAL DEFAULT NULL) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF delay < INTERVAL '0' OR delay > INTERVAL '3650 days' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: delay must be NULL or 0 to ten years';
    END IF;
    PERFORM penstock_settle(sequence, token, 'retry', coalesce(error, ''), round(extract(epoch FROM delay) * 1000000)::BIGINT, NULL);
END $$;

-- No attempt can help: the message is dead.
CREATE FUNCTION penstock_reject(sequence BIGINT, token BIGINT, error TEXT) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_settle(sequence, token, 'reject', coalesce(error, ''), NULL, NULL);
END $$;

-- It was not worked on: it is ready again, and the attempt does not count.
CREATE FUNCTION penstock_release(sequence BIGINT, token BIGINT) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_settle(sequence, token, 'release', NULL, NULL, NULL);
END $$;

INSERT INTO penstock_migration (version, name, applied_at) VALUES (15, 'settles', penstock_now() / 1000000 * 1000000);
