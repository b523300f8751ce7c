-- Numbers that cannot be microseconds are refused as times of an INSERT: seconds or milliseconds would be due at once, or have
-- expired.

-- As in 0010_insert.sql, but for those.
CREATE OR REPLACE FUNCTION penstock_moment(written TEXT, OUT moment BIGINT) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    part TEXT[];
    day  BIGINT;
BEGIN
    IF written ~ '^-?\d{1,19}$' THEN
        IF written::NUMERIC BETWEEN -9223372036854775808 AND 9223372036854775807
            -- Seconds or milliseconds, more likely than a moment before 2000.
            AND written::NUMERIC NOT BETWEEN 1 AND 946684799999999 THEN
            moment := written;
        END IF;
        RETURN;
    END IF;
    part := regexp_match(written, '^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[ \t\n\v\f\rT]*(?:([01]\d|2[0-4]):([0-5]\d)'
        || '(?::([0-5]\d)(?:\.(\d+))?)?\s*(?:[Zz]|([-+])(0\d|1[0-4]):([0-5]\d))?\s*)?$');
    IF part IS NULL THEN RETURN; END IF;
    -- 400 years have 146097 days, and PostgreSQL has no year 0.
    day := make_date(part[1]::INTEGER + 400, part[2]::INTEGER, 1) - DATE '1970-01-01' - 146097 + part[3]::INTEGER - 1;
    moment := day * 86400 + coalesce(part[4]::BIGINT * 3600 + part[5]::BIGINT * 60, 0) + coalesce(part[6]::BIGINT, 0)
        - coalesce((part[8] || '1')::BIGINT * (part[9]::BIGINT * 3600 + part[10]::BIGINT * 60), 0);
    IF moment > 253402300799 THEN
        moment := NULL;
    ELSE
        -- To the microsecond: a time that was copied from a view must not become earlier.
        moment := moment * 1000000 + rpad(left(coalesce(part[7], ''), 6), 6, '0')::BIGINT;
    END IF;
END $$;

INSERT INTO penstock_migration VALUES (18, 'moments', penstock_now() / 1000000 * 1000000);
