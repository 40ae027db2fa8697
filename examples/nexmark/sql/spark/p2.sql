SELECT id, seller, dateTime + 100 AS until_ms
FROM auction LEFT ANTI JOIN bid
ON id = bid.auction AND bid.dateTime > auction.dateTime AND bid.dateTime < auction.dateTime + 100
