SELECT DISTINCT person.id, name, person.dateTime DIV 10000 * 10000 AS starttime
FROM person JOIN auction ON person.id = seller AND person.dateTime DIV 10000 = auction.dateTime DIV 10000
