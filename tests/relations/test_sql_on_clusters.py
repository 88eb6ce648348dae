"""`engine.sql` gives on Dask and Spark what it gives on the local engine: rows, their order and types, to the bit."""

import pytest
from duck_tables import on_files

QUERIES = {
    "joins, groups and an order": """SELECT t.town, count(*) AS n, sum(s.sold) AS sold, max(day) AS last
        FROM sales s LEFT JOIN shops t ON s.shop = t.shop AND s.sold > 2 WHERE s.price IS NOT NULL OR s.sold > 1
        GROUP BY t.town HAVING count(*) > 1 ORDER BY sold DESC NULLS FIRST, town""",
    "logic, texts and dates": """SELECT row, CASE WHEN sold > 4 THEN 'many' WHEN sold > 1 THEN 'some' END AS size,
        sold NOT IN (1, 2) AS other, year(day) * 100 + month(day) AS month, coalesce(shop, -1) AS shop,
        price / sold AS each FROM sales WHERE NOT (sold = 3 AND price < 0.5)
        ORDER BY size, each DESC, row LIMIT 25 OFFSET 3""",
    "subqueries, a union and no order of its own": """
        WITH best AS (SELECT shop, max(sold) AS most FROM sales GROUP BY shop)
        SELECT row, (SELECT count(*) FROM shops t WHERE t.shop = s.shop) AS n FROM sales s
        WHERE NOT EXISTS (SELECT 1 FROM best b WHERE b.shop = s.shop AND b.most > s.sold + 4)
        UNION ALL SELECT most, shop FROM best WHERE most > 5""",
}


@pytest.mark.parametrize("query", QUERIES)
def test_rows_order_and_types_are_those_of_the_local_engine(distributed_engine, local, files, query):
    made, expected = (e.sql(QUERIES[query], **on_files(e, files)).to_arrow() for e in (distributed_engine, local))
    assert expected.num_rows
    assert made.equals(expected)
