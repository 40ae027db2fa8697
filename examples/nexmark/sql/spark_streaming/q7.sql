SELECT auction, bidder, price, dateTime, extra
FROM (SELECT *, window(ts, '10 seconds') AS window FROM bid) AS bid
JOIN (SELECT max(price) AS highest, window FROM bid GROUP BY window(ts, '10 seconds')) AS best
    ON bid.window = best.window AND price = highest
