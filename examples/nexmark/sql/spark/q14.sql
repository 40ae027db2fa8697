SELECT auction, bidder, price,
    CASE
        WHEN hour BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour <= 6 OR hour >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bidTimeType,
    dateTime, extra, CAST(length(extra) - length(replace(extra, 'c', '')) AS BIGINT) AS c_counts
FROM (
    SELECT auction, bidder, 0.908D * price AS price, dateTime, extra, hour(timestamp_millis(dateTime)) AS hour FROM bid
)
WHERE price > 1000000 AND price < 50000000
