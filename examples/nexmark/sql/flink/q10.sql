SELECT auction, bidder, price, `dateTime`, extra, DATE_FORMAT(ts, 'yyyy-MM-dd') AS dt, DATE_FORMAT(ts, 'HH:mm') AS hm
FROM bid
