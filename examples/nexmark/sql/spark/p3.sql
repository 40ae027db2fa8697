WITH highest AS (
    SELECT auction, dateTime DIV 10 * 10 AS time_ms, max(price) AS price FROM bid GROUP BY auction, time_ms
), next AS (
    SELECT *, lead(price, 1) OVER later AS up, lead(price, 2) OVER later AS down, lead(price, 3) OVER later AS up_again,
        lead(price, 4) OVER later AS down_again, lead(time_ms, 4) OVER later AS end_ms,
        lead(time_ms) OVER (later) - time_ms AS gap_ms
    FROM highest WINDOW later AS (PARTITION BY auction ORDER BY time_ms)
), near AS (
    SELECT *, max(gap_ms) OVER (PARTITION BY auction ORDER BY time_ms ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING) AS longest_ms
    FROM next
)
SELECT auction, time_ms, end_ms, price, down_again
FROM near WHERE price < up AND up > down AND down < up_again AND up_again > down_again AND longest_ms < 40
