SELECT auction, bidder, 0.908E0 * price AS price,
    CASE
        WHEN HOUR(ts) >= 8 AND HOUR(ts) <= 18 THEN 'dayTime'
        WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'nightTime'
        ELSE 'otherTime'
    END AS bidTimeType,
    `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts
FROM bid
WHERE 0.908E0 * price > 1000000 AND 0.908E0 * price < 50000000
