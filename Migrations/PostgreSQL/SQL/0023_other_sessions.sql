-- Plain SQL of sessions with other settings: for what their COMMIT waits, and how bytes become text.

-- Where a life's beginning is lost, the next one begins with the same numbers. So the transaction that begins it waits for its
-- COMMIT, also where its session does not.
CREATE OR REPLACE FUNCTION penstock_begin_incarnation() RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM penstock_incarnation WHERE started_at = pg_postmaster_start_time()) THEN
        RETURN;
    ELSIF NOT EXISTS (SELECT FROM penstock_incarnation) THEN
        UPDATE penstock_state SET last_sequence = last_sequence + (1::BIGINT << 32);
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    DELETE FROM penstock_incarnation;
    INSERT INTO penstock_incarnation
        SELECT pg_postmaster_start_time(), penstock_now(), coalesce(max(id), 0) FROM penstock_worker;
END $$;

-- Bytes that are cast to text become what the session's bytea_output says: \x6869, or with escapes. Of the latter only those are
-- told from a text that have one.
CREATE OR REPLACE FUNCTION penstock_payload(payload TEXT) RETURNS BYTEA
LANGUAGE plpgsql STABLE SET standard_conforming_strings TO on AS $$
BEGIN
    IF payload ~ '^\\x([0-9a-f]{2})*$' OR strpos(payload, '\') > 0 AND current_setting('bytea_output') = 'escape'
        AND payload COLLATE "C" ~ '^([ -\[\]-~]|\\\\|\\[0-3][0-7]{2})*$' THEN
        RAISE EXCEPTION USING MESSAGE =
            'penstock: payload must be text here; penstock_enqueue(queue, payload, ...) takes bytes as well, as BYTEA';
    END IF;
    RETURN convert_to(payload, 'UTF8');
END $$;

INSERT INTO penstock_migration VALUES (23, 'other_sessions', penstock_now() / 1000000 * 1000000);
