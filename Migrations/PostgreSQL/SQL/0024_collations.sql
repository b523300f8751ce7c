-- Texts that plain SQL takes from columns with an order of their own. The variables of a function have the order of its call's texts,
-- which then contradicts that of the tables, or knows no patterns. One text with an order that is said decides for all.

-- As in 0011_enqueue.sql, by another name: that which stands before the names of its own variables.
DO $$ BEGIN
    EXECUTE (SELECT format(
        'CREATE FUNCTION penstock_accept(queue TEXT, payload BYTEA, priority BIGINT, attempts_max BIGINT, unique_key TEXT, headers TEXT, '
        'due_at TEXT, group_key TEXT, expires_at TEXT, key_scope BIGINT, OUT sequence BIGINT) LANGUAGE plpgsql AS %L',
        replace(prosrc, 'penstock_enqueue.', 'penstock_accept.'))
        FROM pg_proc WHERE oid =
            'penstock_enqueue(TEXT, BYTEA, BIGINT, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, BIGINT)'::REGPROCEDURE);
END $$;
ALTER FUNCTION penstock_accept(TEXT, BYTEA, BIGINT, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, BIGINT) SET search_path TO @schema@, pg_temp;

CREATE OR REPLACE FUNCTION penstock_enqueue(queue TEXT, payload BYTEA, priority BIGINT DEFAULT NULL,
    attempts_max BIGINT DEFAULT NULL, unique_key TEXT DEFAULT NULL, headers TEXT DEFAULT NULL, due_at TEXT DEFAULT NULL,
    group_key TEXT DEFAULT NULL, expires_at TEXT DEFAULT NULL, key_scope BIGINT DEFAULT NULL, OUT sequence BIGINT)
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    sequence := penstock_accept(queue COLLATE "C", payload, priority, attempts_max, unique_key, headers, due_at, group_key,
        expires_at, key_scope);
END $$;

-- As in 0020_texts.sql.
CREATE OR REPLACE FUNCTION penstock_enqueue(queue TEXT, payload TEXT, priority BIGINT DEFAULT NULL,
    attempts_max BIGINT DEFAULT NULL, unique_key TEXT DEFAULT NULL, headers TEXT DEFAULT NULL, due_at TEXT DEFAULT NULL,
    group_key TEXT DEFAULT NULL, expires_at TEXT DEFAULT NULL, key_scope BIGINT DEFAULT NULL, OUT sequence BIGINT)
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    sequence := penstock_accept(queue COLLATE "C", penstock_payload(payload COLLATE "C"), priority, attempts_max, unique_key, headers,
        due_at, group_key, expires_at, key_scope);
END $$;

-- As in 0020_texts.sql.
CREATE OR REPLACE FUNCTION penstock_done(sequence BIGINT, token BIGINT, result TEXT) RETURNS VOID
LANGUAGE plpgsql SET search_path TO @schema@, pg_temp SET standard_conforming_strings TO on AS $$
BEGIN
    IF result COLLATE "C" ~ '^\\x([0-9a-f]{2})*$' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: result must be text here; write bytes as BYTEA';
    END IF;
    PERFORM penstock_done(sequence, token, convert_to(result, 'UTF8'));
END $$;

INSERT INTO penstock_migration VALUES (24, 'collations', penstock_now() / 1000000 * 1000000);
