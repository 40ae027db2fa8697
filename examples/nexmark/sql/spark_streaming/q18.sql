SELECT last.*
FROM (
    SELECT max_by(bid, struct(dateTime, price, extra)) AS last
    FROM (SELECT *, struct(* EXCEPT (ts)) AS bid FROM bid)
    GROUP BY bidder, auction
)
