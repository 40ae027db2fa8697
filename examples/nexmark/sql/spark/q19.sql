SELECT *
FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, extra DESC) AS rank_number FROM bid)
WHERE rank_number <= 10
