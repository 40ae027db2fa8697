SELECT * EXCEPT (place)
FROM (
    SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, price DESC, extra DESC) AS place
    FROM bid
)
WHERE place = 1
