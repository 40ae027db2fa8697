WITH highest AS (
    SELECT auction, dateTime DIV 10 * 10 AS time_ms, max(price) AS price FROM bid GROUP BY auction, time_ms
), next AS (
    SELECT *, lead(price, 1) OVER later AS second, lead(price, 2) OVER later AS third, lead(price, 3) OVER later AS fourth,
        lead(time_ms, 3) OVER later AS end_ms
    FROM highest WINDOW later AS (PARTITION BY auction ORDER BY time_ms)
)
SELECT auction, time_ms, end_ms, price, fourth
FROM next WHERE price < second AND second < third AND third < fourth AND end_ms - time_ms < 50
