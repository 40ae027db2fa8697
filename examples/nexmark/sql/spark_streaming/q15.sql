WITH ranked AS (
    SELECT *,
        date_format(ts, 'yyyy-MM-dd') AS day,
        CASE WHEN price < 10000 THEN 1 WHEN price < 1000000 THEN 2 ELSE 3 END AS rank
    FROM bid
)
SELECT day,
    count(*) AS total_bids,
    count_if(rank = 1) AS rank1_bids,
    count_if(rank = 2) AS rank2_bids,
    count_if(rank = 3) AS rank3_bids,
    size(collect_set(bidder)) AS total_bidders,
    size(collect_set(CASE WHEN rank = 1 THEN bidder END)) AS rank1_bidders,
    size(collect_set(CASE WHEN rank = 2 THEN bidder END)) AS rank2_bidders,
    size(collect_set(CASE WHEN rank = 3 THEN bidder END)) AS rank3_bidders,
    size(collect_set(auction)) AS total_auctions,
    size(collect_set(CASE WHEN rank = 1 THEN auction END)) AS rank1_auctions,
    size(collect_set(CASE WHEN rank = 2 THEN auction END)) AS rank2_auctions,
    size(collect_set(CASE WHEN rank = 3 THEN auction END)) AS rank3_auctions
FROM ranked
GROUP BY day
