SELECT bidder, count(*) AS bid_count,
    unix_millis(session_window.start) AS starttime, unix_millis(session_window.end) AS endtime
FROM bid
GROUP BY bidder, session_window(ts, '10 seconds')
