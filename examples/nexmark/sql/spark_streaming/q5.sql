SELECT found.auction, most AS num
FROM (
    SELECT max(num) AS most, collect_list(struct(auction, num)) AS counts
    FROM (SELECT auction, count(*) AS num, window FROM bid GROUP BY auction, window(ts, '10 seconds', '2 seconds'))
    GROUP BY window
)
LATERAL VIEW explode(filter(counts, each -> each.num = most)) AS found
