SELECT auction, bidder, price, dateTime, extra,
    date_format(timestamp_millis(dateTime), 'yyyy-MM-dd') AS dt, date_format(timestamp_millis(dateTime), 'HH:mm') AS hm
FROM bid
