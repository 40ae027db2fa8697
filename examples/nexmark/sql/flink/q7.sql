SELECT B.auction, B.bidder, B.price, B.`dateTime`, B.extra
FROM bid AS B
JOIN (
    SELECT MAX(price) AS highest, window_end AS ended
    FROM TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)
    GROUP BY window_start, window_end
) AS W ON B.price = W.highest AND B.ts BETWEEN W.ended - INTERVAL '10' SECOND AND W.ended
