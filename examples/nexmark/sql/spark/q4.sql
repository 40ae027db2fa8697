SELECT category, sum(final) DIV count(*) AS final
FROM (
    SELECT category, max(price) AS final
    FROM auction JOIN bid ON auction.id = bid.auction AND bid.dateTime BETWEEN auction.dateTime AND expires
    GROUP BY id, category
)
GROUP BY category
