SELECT came.id, name, unix_millis(came.window.start) AS starttime
FROM (SELECT id, name, window FROM person GROUP BY id, name, window(ts, '10 seconds')) AS came
JOIN (SELECT seller, window FROM auction GROUP BY seller, window(ts, '10 seconds')) AS sold
    ON came.id = seller AND came.window = sold.window
