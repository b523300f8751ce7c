-- How long messages waited and were worked, as JSON arrays: the sum in microseconds, and then how many are in each bucket, without
-- those behind the last that has something; NULL: none was claimed, or settled. In the row of the totals, which is written anyway.
ALTER TABLE penstock_depth ADD COLUMN wait_latency TEXT;
ALTER TABLE penstock_depth ADD COLUMN work_latency TEXT;

CREATE VIEW penstock_latencies AS
WITH bound (number, seconds) AS (VALUES
    (1, 0.0001), (2, 0.000251), (3, 0.000631), (4, 0.001585), (5, 0.003981), (6, 0.01), (7, 0.025119), (8, 0.063096),
    (9, 0.158489), (10, 0.398107), (11, 1.0), (12, 2.511886), (13, 6.309573), (14, 15.848932), (15, 39.810717), (16, 100.0),
    (17, 251.188643), (18, 630.957344), (19, 1584.893192), (20, 3981.071706), (21, 10000.0), (22, 25118.864315),
    (23, 63095.734448), (24, 158489.319246)),
phase (name) AS (VALUES ('wait'), ('work')),
latency AS (
    SELECT queue.name AS queue, phase.name AS phase,
        CASE phase.name WHEN 'wait' THEN depth.wait_latency ELSE depth.work_latency END AS numbers
    FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id JOIN phase)
SELECT latency.queue, latency.phase, bound.seconds AS up_to_seconds, bucket.value AS count,
    json_extract(latency.numbers, '$[0]') / 1000000.0 AS total_seconds
FROM latency JOIN json_each(CASE WHEN json_valid(latency.numbers) THEN latency.numbers ELSE '[]' END) AS bucket
    ON bucket.key > 0
LEFT JOIN bound ON bound.number = bucket.key;

INSERT INTO penstock_migration VALUES (27, 'latencies', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);
