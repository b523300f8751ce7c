-- A life is on the disk, and on the standbys that the server waits for, once it has begun, whoever begins it.

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
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    DELETE FROM penstock_incarnation;
    INSERT INTO penstock_incarnation
        SELECT pg_postmaster_start_time(), penstock_now(), coalesce(max(id), 0) FROM penstock_worker;
END $$;

INSERT INTO penstock_migration VALUES (23, 'flushed_lives', penstock_now() / 1000000 * 1000000);
