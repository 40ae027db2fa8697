SELECT auction, bidder, price, dateTime, extra
FROM (SELECT *, max(price) OVER (PARTITION BY dateTime DIV 10000) AS highest FROM bid)
WHERE price = highest
