WITH winning AS (
    SELECT id, seller, expires, max(price) AS price
    FROM auction JOIN bid ON auction.id = bid.auction AND bid.dateTime BETWEEN auction.dateTime AND expires
    GROUP BY id, seller, expires
)
SELECT seller, sum(price) OVER last_ten DIV count(*) OVER last_ten AS avg_price
FROM winning
WINDOW last_ten AS (PARTITION BY seller ORDER BY expires, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
