SELECT name, city, state, A.id
FROM auction AS A JOIN person AS P ON A.seller = P.id
WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
