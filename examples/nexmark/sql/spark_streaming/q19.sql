SELECT found.*, place + 1 AS rank_number
FROM (
    SELECT max_by(bid, struct(price, -dateTime, extra), 10) AS best
    FROM (SELECT *, struct(* EXCEPT (ts)) AS bid FROM bid)
    GROUP BY auction
)
LATERAL VIEW posexplode(best) AS place, found
