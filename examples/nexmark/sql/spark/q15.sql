WITH ranked AS (
    SELECT *,
        date_format(timestamp_millis(dateTime), 'yyyy-MM-dd') AS day,
        CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS rank
    FROM bid
)
SELECT day,
    count(*) AS total_bids,
    count_if(rank = 1) AS rank1_bids,
    count_if(rank = 2) AS rank2_bids,
    count_if(rank = 3) AS rank3_bids,
    count(DISTINCT bidder) AS total_bidders,
    count(DISTINCT bidder) FILTER (WHERE rank = 1) AS rank1_bidders,
    count(DISTINCT bidder) FILTER (WHERE rank = 2) AS rank2_bidders,
    count(DISTINCT bidder) FILTER (WHERE rank = 3) AS rank3_bidders,
    count(DISTINCT auction) AS total_auctions,
    count(DISTINCT auction) FILTER (WHERE rank = 1) AS rank1_auctions,
    count(DISTINCT auction) FILTER (WHERE rank = 2) AS rank2_auctions,
    count(DISTINCT auction) FILTER (WHERE rank = 3) AS rank3_auctions
FROM ranked
GROUP BY day
