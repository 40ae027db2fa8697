WITH counts AS (
    SELECT auction, count(*) AS num, window
    FROM bid
    GROUP BY auction, window(timestamp_millis(dateTime), '10 seconds', '2 seconds')
)
SELECT auction, num
FROM (SELECT auction, num, max(num) OVER (PARTITION BY window) AS most FROM counts)
WHERE num = most
