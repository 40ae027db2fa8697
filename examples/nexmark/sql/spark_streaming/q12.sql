SELECT bidder, count(*) AS bid_count, unix_millis(window.start) AS starttime, unix_millis(window.end) AS endtime
FROM bid
GROUP BY bidder, window(current_timestamp(), '10 seconds')
