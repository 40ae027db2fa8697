SELECT bid.* EXCEPT (ts), itemName, description, initialBid, reserve, auction.dateTime, expires, seller, category,
    auction.extra
FROM bid JOIN auction ON bid.auction = auction.id
WHERE category = 10
