-- Groups and limits: which of a queue's messages may be with workers at the same time.

-- A queue's messages may be in groups, each by its key. Of a group so many are in line for workers or with them as there are
-- permits; the others are blocked.
--   fifo:          one permit, which a message keeps from its first place in line to its end, retries included
--   on_dead:       of such a group: the next message goes on, or a dead letter keeps the permit
--   limit_per_key: so many permits; a message has one while it is ready or leased
--   limit_count:   so many messages of the queue are leased at most, whatever their group
--   share_limit:   the same for all queues that name the same row of penstock_limit, together
ALTER TABLE penstock_queue ADD COLUMN fifo INTEGER NOT NULL DEFAULT 0 CHECK (fifo = 0 OR fifo = 1);
ALTER TABLE penstock_queue ADD COLUMN on_dead TEXT NOT NULL DEFAULT 'next' CHECK (on_dead = 'next' OR on_dead = 'hold');
ALTER TABLE penstock_queue ADD COLUMN limit_per_key INTEGER
    CHECK (limit_per_key IS NULL OR limit_per_key BETWEEN 1 AND 1000 AND fifo = 0);
ALTER TABLE penstock_queue ADD COLUMN limit_count INTEGER CHECK (limit_count BETWEEN 1 AND 1000000);
ALTER TABLE penstock_queue ADD COLUMN share_limit TEXT;
CREATE INDEX penstock_queue_share_limit ON penstock_queue (share_limit) WHERE share_limit IS NOT NULL;

CREATE TABLE penstock_limit (
    name  TEXT    NOT NULL PRIMARY KEY CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200),
    count INTEGER NOT NULL CHECK (count BETWEEN 1 AND 1000000)
) STRICT, WITHOUT ROWID;
-- A limit that is not there would be none.
CREATE TRIGGER penstock_queue_share_limit_inserted BEFORE INSERT ON penstock_queue WHEN NEW.share_limit IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no limit of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_limit WHERE name = NEW.share_limit);
END;
CREATE TRIGGER penstock_queue_share_limit_updated BEFORE UPDATE OF share_limit ON penstock_queue
WHEN NEW.share_limit IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'penstock: there is no limit of that name')
        WHERE NOT EXISTS (SELECT 1 FROM penstock_limit WHERE name = NEW.share_limit);
END;
CREATE TRIGGER penstock_limit_renamed BEFORE UPDATE OF name ON penstock_limit WHEN NEW.name <> OLD.name BEGIN
    SELECT RAISE(ABORT, 'penstock: queues share that limit')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE share_limit = OLD.name);
END;
CREATE TRIGGER penstock_limit_deleted BEFORE DELETE ON penstock_limit BEGIN
    SELECT RAISE(ABORT, 'penstock: queues share that limit')
        WHERE EXISTS (SELECT 1 FROM penstock_queue WHERE share_limit = OLD.name);
END;

-- The group of a message. NULL: it is in none.
ALTER TABLE penstock_log ADD COLUMN group_key TEXT;
ALTER TABLE penstock_schedule ADD COLUMN group_key TEXT;

-- A further mark, beside those of 0012_pending.sql:
--   8  it has a group

-- Which message of a group has a permit: of all that may, those are leased, or in line for it. It belongs to the message and
-- not to a lease, so a worker that is gone has nothing to give back.
CREATE TABLE penstock_permit (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    sequence  INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key, sequence)
) STRICT, WITHOUT ROWID;

-- A sixth table of the line: messages that wait for a permit of their group. They take room in their queue.
CREATE TABLE penstock_blocked (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    priority  INTEGER NOT NULL,
    sequence  INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    forgiven  INTEGER NOT NULL,
    marks     INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key, priority DESC, sequence)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX penstock_blocked_sequence ON penstock_blocked (queue_id, sequence);

ALTER TABLE penstock_depth ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked >= 0);

-- Groups that are paused: none of their messages is given a permit.
CREATE TABLE penstock_group_pause (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    paused_at INTEGER NOT NULL,
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;

-- Groups whose permits are to be given out anew, as what they were given by has changed. Any claim from the queue does so
-- before it takes a message.
CREATE TABLE penstock_regroup (
    queue_id  INTEGER NOT NULL,
    group_key TEXT    NOT NULL,
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
-- A queue without groups has no permits. Messages that still name a group get theirs when there are groups again.
CREATE TRIGGER penstock_queue_grouped AFTER UPDATE OF fifo, limit_per_key ON penstock_queue
WHEN OLD.fifo = 0 AND OLD.limit_per_key IS NULL AND (NEW.fifo OR NEW.limit_per_key IS NOT NULL) BEGIN
    INSERT OR IGNORE INTO penstock_permit (queue_id, group_key, sequence)
        SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_ready AS ready JOIN penstock_log AS log ON log.sequence = ready.sequence
        WHERE ready.queue_id = NEW.id AND ready.marks & 8 AND log.group_key IS NOT NULL
        UNION ALL SELECT log.queue_id, log.group_key, log.sequence
        FROM penstock_lease AS lease JOIN penstock_log AS log ON log.sequence = lease.sequence
        WHERE lease.queue_id = NEW.id AND lease.marks & 8 AND log.group_key IS NOT NULL;
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT DISTINCT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id;
END;
CREATE TRIGGER penstock_queue_regroup AFTER UPDATE OF fifo, on_dead, limit_per_key ON penstock_queue
WHEN NEW.fifo <> OLD.fifo OR NEW.on_dead <> OLD.on_dead OR NEW.limit_per_key IS NOT OLD.limit_per_key BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id;
END;
CREATE TRIGGER penstock_group_paused AFTER INSERT ON penstock_group_pause BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key) VALUES (NEW.queue_id, NEW.group_key);
END;
CREATE TRIGGER penstock_group_resumed AFTER DELETE ON penstock_group_pause BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key) VALUES (OLD.queue_id, OLD.group_key);
END;

INSERT INTO penstock_migration VALUES (14, 'groups', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
