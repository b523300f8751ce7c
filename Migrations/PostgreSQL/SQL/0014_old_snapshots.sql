-- A transaction that stays open keeps every version of a row that it may still see, and VACUUM removes none of them. What looked for the
-- newest version of a row, or for the first message that is ready, went past all of those: the longer such a transaction lasted, the
-- slower was everything. Now both are found from their end.

-- The versions of a row that is written in each transaction: the newest have the highest `version`, so they are the first ones of an
-- index that is read from its end. Every 64 updates it moves on, as one that stays lets a new version lie beside the old one without
-- an entry in the index.
ALTER TABLE penstock_state
    ADD COLUMN updates BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
CREATE INDEX penstock_state_newest ON penstock_state (version);

ALTER TABLE penstock_depth
    ADD COLUMN updates BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN version BIGINT NOT NULL DEFAULT 0,
    -- Where the line of ready messages begins: none is ready before this place, in the order of penstock_ready_order. The place is that of the
    -- last message that was claimed, or of one that became ready before it since. Such a priority as there is none: nobody knows.
    ADD COLUMN from_priority BIGINT NOT NULL DEFAULT 9223372036854775807,
    ADD COLUMN from_turn BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN from_sequence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE penstock_depth DROP CONSTRAINT penstock_depth_pkey;
CREATE UNIQUE INDEX penstock_depth_newest ON penstock_depth (queue_id, version);
ALTER TABLE penstock_depth REPLICA IDENTITY USING INDEX penstock_depth_newest;

-- Who looks for leases that have ended goes through those that are left, and not through all that were.
CREATE INDEX penstock_lease_claimed ON penstock_lease (claimed_at);

-- The line begins with this message, if it is before the place where it has begun. Under the write lock, for messages that
-- come by SQL; processes of Penstock say it themselves.
CREATE FUNCTION penstock_line_begins(queue_id BIGINT, priority BIGINT, turn BIGINT, sequence BIGINT) RETURNS VOID
LANGUAGE sql SET search_path TO @schema@, pg_temp AS $$
    UPDATE penstock_depth SET from_priority = $2, from_turn = $3, from_sequence = $4
    WHERE queue_id = $1 AND version = (SELECT max(newest.version) FROM penstock_depth AS newest WHERE newest.queue_id = $1)
        AND (from_priority < $2 OR from_priority = $2 AND (from_turn, from_sequence) > ($3, $4))
$$;

CREATE FUNCTION penstock_ready_by_sql() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_line_begins(NEW.queue_id, NEW.priority, NEW.turn, NEW.sequence);
    RETURN NULL;
END $$;
-- Processes of Penstock say it with their transaction's other numbers, and set this to spare themselves the trigger.
CREATE TRIGGER penstock_ready_by_sql AFTER INSERT ON penstock_ready FOR EACH ROW
    WHEN (current_setting('penstock.writer', true) IS DISTINCT FROM 'process') EXECUTE FUNCTION penstock_ready_by_sql();

INSERT INTO penstock_migration VALUES (14, 'old_snapshots', penstock_now() / 1000000 * 1000000);
