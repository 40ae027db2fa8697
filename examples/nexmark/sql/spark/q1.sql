SELECT auction, bidder, 0.908D * price AS price, dateTime, extra FROM bid
