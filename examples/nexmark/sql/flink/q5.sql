WITH counts AS (
    SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
    GROUP BY auction, window_start, window_end
)
SELECT C.auction, C.num
FROM counts AS C
JOIN (
    SELECT MAX(num) AS most, window_start, window_end FROM counts GROUP BY window_start, window_end
) AS M ON C.window_start = M.window_start AND C.window_end = M.window_end AND C.num >= M.most
