WITH bids AS (
    SELECT auction.*, bid.auction, bidder, price, bid.dateTime AS bid_dateTime, bid.extra AS bid_extra,
        row_number() OVER (PARTITION BY id ORDER BY price DESC, bid.dateTime, bid.extra DESC) AS place
    FROM auction JOIN bid ON auction.id = bid.auction AND bid.dateTime BETWEEN auction.dateTime AND expires
)
SELECT * EXCEPT (place) FROM bids WHERE place = 1
