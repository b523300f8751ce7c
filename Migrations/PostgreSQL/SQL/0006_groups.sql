-- Groups, limits, turns and rates: which of a queue's messages may be with workers at the same time, in which order, and when.

CREATE TABLE penstock_limit (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 200),
    count BIGINT NOT NULL CHECK (count BETWEEN 1 AND 1000000)
);

-- Which message of a group has a permit: of all that may, those are leased, or in line for it. It belongs to the message and
-- not to a lease, so a worker that is gone has nothing to give back.
CREATE TABLE penstock_permit (
    queue_id  BIGINT NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    sequence  BIGINT NOT NULL,
    PRIMARY KEY (queue_id, group_key, sequence)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Groups that are paused: none of their messages is given a permit.
CREATE TABLE penstock_group_pause (
    queue_id  BIGINT NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    paused_at BIGINT NOT NULL,
    PRIMARY KEY (queue_id, group_key)
);

-- Groups whose permits are to be given out anew, as what they were given by has changed. Any claim from the queue does so
-- before it takes a message.
CREATE TABLE penstock_regroup (
    queue_id  BIGINT NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (queue_id, group_key)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Queues that are shared fairly, or were: each priority by itself. Start-time fair queueing (Goyal, Vin and Cheng, 1996): as it
-- becomes ready, a message has the later of two turns, the one that was claimed last and the one behind its group's last message.
CREATE TABLE penstock_fair (
    queue_id BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    -- The turn that was claimed last. A priority without a row: 1.
    turn     BIGINT NOT NULL CHECK (turn BETWEEN 1 AND 4611686018427387903),
    PRIMARY KEY (queue_id, priority)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);

-- What a group has had. One that has had no more than others has no row.
CREATE TABLE penstock_share (
    queue_id   BIGINT NOT NULL,
    priority   BIGINT NOT NULL,
    -- Empty: all messages without a group.
    group_key  TEXT COLLATE "C" NOT NULL,
    -- The turn behind its last message.
    next_turn  BIGINT NOT NULL CHECK (next_turn BETWEEN 0 AND 4611686018427387903),
    -- The turn behind the last of its messages that came back, to be tried again. Never behind next_turn.
    again_turn BIGINT NOT NULL CHECK (again_turn BETWEEN 0 AND 4611686018427387903),
    PRIMARY KEY (queue_id, priority, group_key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_share_passed ON penstock_share (queue_id, priority, next_turn);

-- How much a group weighs that weighs more than 1.
CREATE TABLE penstock_weight (
    queue_id  BIGINT NOT NULL,
    group_key TEXT COLLATE "C" NOT NULL,
    weight    BIGINT NOT NULL CHECK (weight BETWEEN 2 AND 1000),
    PRIMARY KEY (queue_id, group_key)
);

-- When messages of a group may start: as the rate of each group says, and as workers have put them off.
CREATE TABLE penstock_group_rate (
    queue_id   BIGINT NOT NULL,
    group_key  TEXT COLLATE "C" NOT NULL,
    -- The generic cell rate algorithm keeps one number, the theoretical arrival time of the next start, in microseconds on the
    -- boot clock that penstock_rate names.
    tat        BIGINT NOT NULL CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- Until when a worker has put the group off, as the wall clock says it.
    held_until BIGINT NOT NULL DEFAULT 0 CHECK (held_until BETWEEN 0 AND 253402300799999999),
    -- From when on a claim sees whether the group may go on, on the boot clock. NULL: it does not wait for its time.
    opens_at   BIGINT CHECK (opens_at BETWEEN 0 AND 4611686018427387903),
    PRIMARY KEY (queue_id, group_key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX penstock_group_rate_opening ON penstock_group_rate (queue_id, opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX penstock_group_rate_passed ON penstock_group_rate (queue_id, tat) WHERE opens_at IS NULL;

-- What the rate of a whole queue has let start.
CREATE TABLE penstock_rate (
    queue_id    BIGINT PRIMARY KEY,
    -- NULL: nothing is known of it.
    tat         BIGINT CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- The boot clock of this queue's numbers and those of its groups, and by how much it was behind the wall clock when somebody
    -- started a message last, to a second.
    clock       TEXT COLLATE "C" NOT NULL,
    wall_offset BIGINT NOT NULL CHECK (wall_offset BETWEEN -4611686018427387903 AND 4611686018427387903)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);

-- A limit that is not there would be none.
CREATE FUNCTION penstock_share_limit_named() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM penstock_limit WHERE name = NEW.share_limit) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: there is no limit of that name';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER penstock_queue_share_limit_inserted BEFORE INSERT ON penstock_queue
    FOR EACH ROW WHEN (NEW.share_limit IS NOT NULL) EXECUTE FUNCTION penstock_share_limit_named();
CREATE TRIGGER penstock_queue_share_limit_updated BEFORE UPDATE OF share_limit ON penstock_queue
    FOR EACH ROW WHEN (NEW.share_limit IS NOT NULL) EXECUTE FUNCTION penstock_share_limit_named();

CREATE FUNCTION penstock_limit_going() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM penstock_queue WHERE share_limit = OLD.name) THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: queues share that limit';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER penstock_limit_renamed BEFORE UPDATE OF name ON penstock_limit
    FOR EACH ROW WHEN (NEW.name <> OLD.name) EXECUTE FUNCTION penstock_limit_going();
CREATE TRIGGER penstock_limit_deleted BEFORE DELETE ON penstock_limit
    FOR EACH ROW EXECUTE FUNCTION penstock_limit_going();
CREATE TRIGGER penstock_limit_lock BEFORE INSERT OR UPDATE OR DELETE ON penstock_limit
    FOR EACH STATEMENT EXECUTE FUNCTION penstock_locking();

-- A queue without groups has no permits. Messages that still name a group get theirs when there are groups again.
CREATE FUNCTION penstock_queue_grouped() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    INSERT INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_ready AS ready JOIN penstock_log AS log ON log.sequence = ready.sequence
        WHERE ready.queue_id = NEW.id AND ready.marks & 8 <> 0 AND log.group_key IS NOT NULL
        UNION ALL SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_lease AS lease JOIN penstock_log AS log ON log.sequence = lease.sequence
        WHERE lease.queue_id = NEW.id AND lease.marks & 8 <> 0 AND log.group_key IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER penstock_queue_grouped AFTER UPDATE OF fifo, limit_per_key ON penstock_queue
    FOR EACH ROW WHEN (OLD.fifo = 0 AND OLD.limit_per_key IS NULL AND (NEW.fifo <> 0 OR NEW.limit_per_key IS NOT NULL))
    EXECUTE FUNCTION penstock_queue_grouped();

-- What waits for its time is seen to when that changes. A group that waits so may have nothing in line, and would go on waiting.
CREATE FUNCTION penstock_queue_regroup() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    INSERT INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_group_rate WHERE queue_id = NEW.id AND opens_at IS NOT NULL
        ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER penstock_queue_regroup AFTER UPDATE OF fifo, on_dead, limit_per_key ON penstock_queue
    FOR EACH ROW WHEN (NEW.fifo <> OLD.fifo OR NEW.on_dead <> OLD.on_dead
        OR NEW.limit_per_key IS DISTINCT FROM OLD.limit_per_key)
    EXECUTE FUNCTION penstock_queue_regroup();
CREATE TRIGGER penstock_queue_key_rate AFTER UPDATE OF key_rate_count, key_rate_period, key_rate_burst ON penstock_queue
    FOR EACH ROW WHEN (NEW.key_rate_count IS DISTINCT FROM OLD.key_rate_count
        OR NEW.key_rate_period IS DISTINCT FROM OLD.key_rate_period OR NEW.key_rate_burst <> OLD.key_rate_burst)
    EXECUTE FUNCTION penstock_queue_regroup();

CREATE FUNCTION penstock_queue_fair() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    INSERT INTO penstock_fair (queue_id, priority, turn) VALUES (NEW.id, 0, 1) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER penstock_queue_fair AFTER UPDATE OF fair ON penstock_queue
    FOR EACH ROW WHEN (NEW.fair <> 0 AND OLD.fair = 0) EXECUTE FUNCTION penstock_queue_fair();
CREATE TRIGGER penstock_queue_fair_inserted AFTER INSERT ON penstock_queue
    FOR EACH ROW WHEN (NEW.fair <> 0) EXECUTE FUNCTION penstock_queue_fair();

CREATE FUNCTION penstock_group_moved() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
DECLARE
    pause penstock_group_pause := coalesce(NEW, OLD);
BEGIN
    PERFORM penstock_write_lock();
    INSERT INTO penstock_regroup (queue_id, group_key) VALUES (pause.queue_id, pause.group_key) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER penstock_group_paused AFTER INSERT ON penstock_group_pause
    FOR EACH ROW EXECUTE FUNCTION penstock_group_moved();
CREATE TRIGGER penstock_group_resumed AFTER DELETE ON penstock_group_pause
    FOR EACH ROW EXECUTE FUNCTION penstock_group_moved();
CREATE TRIGGER penstock_group_pause_lock BEFORE INSERT OR UPDATE OR DELETE ON penstock_group_pause
    FOR EACH STATEMENT EXECUTE FUNCTION penstock_locking();

INSERT INTO penstock_migration VALUES (6, 'groups', penstock_now() / 1000000 * 1000000);
