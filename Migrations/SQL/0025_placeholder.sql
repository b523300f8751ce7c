-- The number of another step.

INSERT INTO penstock_migration VALUES (25, 'placeholder', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
