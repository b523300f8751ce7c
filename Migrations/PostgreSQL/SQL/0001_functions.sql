-- What the rest stands on: the record of the steps, and functions that PostgreSQL has not and SQLite has, or the other way round.
--
-- By hand: put the quoted name of an empty schema in place of @schema@ in each file of this folder, and run them in order with
-- that schema as the search_path. A schema is a store: everything of Penstock's lies in one, and several may lie in one database.
-- Times are microseconds since 1970-01-01T00:00:00Z; numbers of all kinds are BIGINT, as SQLite knows one kind of them only, and
-- one text of a statement has to do for both. Booleans are 0 and 1.

-- Texts are ordered and compared by their bytes in both.
CREATE TABLE penstock_migration (
    version    BIGINT PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    applied_at BIGINT NOT NULL
);

-- Said here rather than by the first message that cannot be stored or rung for.
DO $$ BEGIN
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the database must have the encoding UTF8';
    END IF;
    -- The name of a channel has 63 bytes at most, and 'penstock:' is before the name of the schema.
    IF octet_length(current_schema()) > 54 THEN
        RAISE EXCEPTION USING MESSAGE = 'penstock: the name of the schema has more than 54 bytes';
    END IF;
END $$;

-- The moment at which it is asked, not the beginning of the transaction: a writer may have waited for others.
CREATE FUNCTION penstock_now() RETURNS BIGINT LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT $$;

-- SQLite has these with two arguments; PostgreSQL calls them greatest and least, which pass NULL over.
CREATE FUNCTION max(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN $1 >= $2 THEN $1 WHEN $1 < $2 THEN $2 END $$;
CREATE FUNCTION min(BIGINT, BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN $1 <= $2 THEN $1 WHEN $1 > $2 THEN $2 END $$;

CREATE FUNCTION instr(BYTEA, BYTEA) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT position($2 IN $1)::BIGINT $$;
CREATE FUNCTION instr(TEXT, TEXT) RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT strpos($1, $2)::BIGINT $$;

-- The sum, and 0 of nothing. As in SQLite a floating-point number, which does not overflow; whole numbers are taken as well.
CREATE AGGREGATE total(DOUBLE PRECISION) (
    SFUNC = float8pl, STYPE = DOUBLE PRECISION, INITCOND = '0', PARALLEL = SAFE, COMBINEFUNC = float8pl);

-- The bytes of a text, as CAST(x AS BLOB) gives them in SQLite. A cast to BYTEA would read backslashes in it.
CREATE FUNCTION penstock_bytes(TEXT) RETURNS BYTEA LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT convert_to($1, 'UTF8') $$;

-- The text of bytes that are one; NULL of others. Text has no zero bytes here, and convert_from fails where it cannot.
CREATE FUNCTION penstock_text(bytes BYTEA) RETURNS TEXT LANGUAGE plpgsql IMMUTABLE STRICT COST 100 AS $$
BEGIN
    RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN NULL;
END $$;

-- Whether a text is JSON that can be read: of what PostgreSQL parses but cannot give as text, such as \u0000, it is not so.
CREATE FUNCTION json_valid(json TEXT) RETURNS BOOLEAN LANGUAGE plpgsql IMMUTABLE STRICT COST 100 AS $$
BEGIN
    PERFORM json::JSONB;
    RETURN TRUE;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
    RETURN FALSE;
END $$;

-- The members of a JSON array of whole numbers: json_each as statements use it of lists that are bound.
CREATE FUNCTION penstock_json_each(TEXT) RETURNS TABLE (value BIGINT) LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 AS
$$ SELECT member FROM unnest(translate($1, '[]', '{}')::BIGINT[]) AS members (member) $$;

-- The members of a JSON object: json_each as statements use it of headers. The type is named as SQLite names it.
CREATE FUNCTION penstock_json_members(TEXT) RETURNS TABLE (key TEXT, value TEXT, type TEXT)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT member.key, member.value #>> '{}', CASE json_typeof(member.value)
        WHEN 'string' THEN 'text'
        WHEN 'boolean' THEN member.value::TEXT
        WHEN 'number' THEN CASE WHEN member.value::TEXT ~ '[.eE]' THEN 'real' ELSE 'integer' END
        ELSE json_typeof(member.value) END
    FROM json_each($1::JSON) AS member
$$;

-- All writers of a schema go one after the other, as those of an SQLite file do. 0x50454e53 is 'PENS', and keeps the locks of
-- other programs apart from these; the table's number keeps the schemas apart.
CREATE FUNCTION penstock_write_lock() RETURNS VOID LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock((1346719315::BIGINT << 32) | 'penstock_state'::regclass::oid::BIGINT);
END $$;

-- Before the first row of a statement is touched: who waited for the lock with a row in hand would wait for a writer that may want
-- that row.
CREATE FUNCTION penstock_locking() RETURNS TRIGGER LANGUAGE plpgsql SET search_path TO @schema@, pg_temp AS $$
BEGIN
    PERFORM penstock_write_lock();
    RETURN NULL;
END $$;

INSERT INTO penstock_migration VALUES (1, 'functions', penstock_now() / 1000000 * 1000000);
