SELECT offer.*, best.auction, best.bidder, best.price, best.dateTime AS bid_dateTime, best.extra AS bid_extra
FROM (
    SELECT any_value(offer) AS offer, max_by(bid, struct(price, -bid.dateTime, bid.extra)) AS best
    FROM (SELECT *, struct(* EXCEPT (ts)) AS offer FROM auction) AS auction
    JOIN (SELECT *, struct(*) AS bid FROM bid) AS bid
        ON id = bid.auction AND bid.dateTime BETWEEN auction.dateTime AND expires
        AND bid.ts BETWEEN auction.ts AND auction.ts + INTERVAL '20' SECOND
    GROUP BY id, auction.ts
)
