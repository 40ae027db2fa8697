SELECT name, city, state, auction.id
FROM auction JOIN person ON seller = person.id
WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
