-- When messages may start: expiry, rates of groups, and how long a unique key keeps others out.

-- Further marks of a row in line, beside those of 0012_pending.sql:
--    16  it expires, and has a row in penstock_expiry unless a worker has it
--    32  it holds its unique key only while it waits

-- Until when a message may start, in microseconds. NULL: at any time.
ALTER TABLE penstock_log ADD COLUMN expires_at INTEGER;
-- How long it keeps others with its unique key out. NULL: until it has ended. 0: while it waits. Else: for so many
-- microseconds from its acceptance.
ALTER TABLE penstock_log ADD COLUMN key_scope INTEGER CHECK (key_scope >= 0);

-- Messages in line that expire. One that a worker has goes on; its row comes back with the message.
CREATE TABLE penstock_expiry (
    sequence   INTEGER PRIMARY KEY,
    queue_id   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX penstock_expiry_first ON penstock_expiry (queue_id, expires_at);

-- When the first of those was accepted that were replaced one by the other, ending with this. NULL: nothing was replaced.
ALTER TABLE penstock_unique ADD COLUMN since INTEGER;

-- Keys that are held for a period, whatever becomes of their messages.
CREATE TABLE penstock_unique_period (
    queue_id   INTEGER NOT NULL,
    unique_key TEXT    NOT NULL,
    sequence   INTEGER NOT NULL,
    -- The key is free from then on.
    until      INTEGER NOT NULL,
    since      INTEGER,
    PRIMARY KEY (queue_id, unique_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_unique_period_until ON penstock_unique_period (queue_id, until);

ALTER TABLE penstock_schedule ADD COLUMN key_scope INTEGER CHECK (key_scope >= 0);
-- How long after it fires a schedule's message may start. NULL: at any time.
ALTER TABLE penstock_schedule ADD COLUMN expires_after INTEGER CHECK (expires_after > 0);

--   when_expired: what becomes of messages that have not started by then
--   key_rate_*:   so many messages of each group start in so many microseconds, and so many at once
ALTER TABLE penstock_queue ADD COLUMN when_expired TEXT NOT NULL DEFAULT 'drop'
    CHECK (when_expired = 'drop' OR when_expired = 'dead');
ALTER TABLE penstock_queue ADD COLUMN key_rate_count INTEGER CHECK (key_rate_count BETWEEN 1 AND 1000000);
ALTER TABLE penstock_queue ADD COLUMN key_rate_period INTEGER
    CHECK (key_rate_period BETWEEN 1000 AND 2592000000000 AND key_rate_period >= key_rate_count);
ALTER TABLE penstock_queue ADD COLUMN key_rate_burst INTEGER NOT NULL DEFAULT 1
    CHECK (key_rate_burst BETWEEN 1 AND 1000000);

-- When messages of a group may start: as the rate of each group says, and as workers have put them off.
CREATE TABLE penstock_group_rate (
    queue_id   INTEGER NOT NULL,
    group_key  TEXT    NOT NULL,
    -- The generic cell rate algorithm keeps one number, the theoretical arrival time of the next start, in microseconds on the
    -- boot clock that 0023_rates.sql names.
    tat        INTEGER NOT NULL CHECK (tat BETWEEN 0 AND 4611686018427387903),
    -- Until when a worker has put the group off, as the wall clock says it.
    held_until INTEGER NOT NULL DEFAULT 0 CHECK (held_until BETWEEN 0 AND 253402300799999999),
    -- From when on a claim sees whether the group may go on, on the boot clock. NULL: it does not wait for its time.
    opens_at   INTEGER CHECK (opens_at BETWEEN 0 AND 4611686018427387903),
    PRIMARY KEY (queue_id, group_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX penstock_group_rate_opening ON penstock_group_rate (queue_id, opens_at) WHERE opens_at IS NOT NULL;
CREATE INDEX penstock_group_rate_passed ON penstock_group_rate (queue_id, tat) WHERE opens_at IS NULL;
-- Another rate may let a group's messages start earlier, or later.
CREATE TRIGGER penstock_queue_key_rate AFTER UPDATE OF key_rate_count, key_rate_period, key_rate_burst ON penstock_queue
WHEN NEW.key_rate_count IS NOT OLD.key_rate_count OR NEW.key_rate_period IS NOT OLD.key_rate_period
    OR NEW.key_rate_burst <> OLD.key_rate_burst BEGIN
    INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key)
        SELECT queue_id, group_key FROM penstock_permit WHERE queue_id = NEW.id
        UNION SELECT queue_id, group_key FROM penstock_blocked WHERE queue_id = NEW.id;
END;

INSERT INTO penstock_migration VALUES (19, 'starts', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
