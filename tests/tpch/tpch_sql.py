"""The 22 queries in the manner of TPC-H as SQL, for DuckDB."""

REVENUE = "l_extendedprice * (1 - l_discount)"

SQL = {
    "q1": f"""SELECT l_returnflag, l_linestatus, sum(l_quantity)::BIGINT sum_qty, sum(l_extendedprice) sum_base_price,
        sum({REVENUE}) sum_disc_price, sum({REVENUE} * (1 + l_tax)) sum_charge, avg(l_quantity) avg_qty,
        avg(l_discount) avg_disc, count(*) count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-07-01' GROUP BY ALL ORDER BY 1, 2""",
    "q2": """WITH offers AS (SELECT * FROM part, supplier, partsupp, nation, region
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND p_size >= 10 AND p_type LIKE '%BRASS')
        SELECT s_acctbal, s_name, n_name, ps_partkey, p_mfgr, ps_supplycost FROM offers o WHERE ps_supplycost =
            (SELECT min(ps_supplycost) FROM offers i WHERE i.ps_partkey = o.ps_partkey)
        ORDER BY s_acctbal DESC, n_name, s_name, ps_partkey""",
    "q3": f"""SELECT l_orderkey, o_orderdate, o_shippriority, sum({REVENUE}) revenue FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' GROUP BY ALL
        ORDER BY revenue DESC, o_orderdate""",
    "q4": """SELECT o_orderpriority, count(*) order_count FROM orders
        WHERE o_orderdate >= DATE '1993-01-01' AND o_orderdate < DATE '1995-10-01' AND EXISTS
            (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY 1 ORDER BY 1""",
    "q5": f"""SELECT n_name, sum({REVENUE}) revenue FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1993-01-01' AND o_orderdate < DATE '1997-01-01' GROUP BY 1 ORDER BY revenue DESC""",
    "q6": """SELECT sum(l_extendedprice * l_discount) revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1996-01-01' AND l_discount BETWEEN 0.045 AND 0.075 AND l_quantity < 24""",
    "q7": f"""SELECT s.n_name supp, c.n_name cust, year(l_shipdate) l_year, sum({REVENUE}) revenue
        FROM supplier, lineitem, orders, customer, nation s, nation c WHERE s_suppkey = l_suppkey
        AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = s.n_nationkey
        AND c_nationkey = c.n_nationkey AND s.n_name IN ('FRANCE', 'GERMANY', 'ALGERIA', 'PERU')
        AND c.n_name IN ('FRANCE', 'GERMANY', 'ALGERIA', 'PERU') AND s.n_name != c.n_name
        AND l_shipdate >= DATE '1993-01-01' AND l_shipdate < DATE '1997-01-01' GROUP BY ALL ORDER BY 1, 2, 3""",
    "q8": f"""SELECT year(o_orderdate) o_year,
        sum(CASE WHEN n2.n_name IN ('BRAZIL', 'CANADA', 'PERU') THEN {REVENUE} ELSE 0 END) / sum({REVENUE}) mkt_share
        FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region WHERE p_partkey = l_partkey
        AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
        AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
        AND s_nationkey = n2.n_nationkey AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY 1 ORDER BY 1""",
    "q9": f"""SELECT n_name, year(o_orderdate) o_year, sum({REVENUE} - ps_supplycost::DOUBLE * l_quantity) sum_profit
        FROM part, supplier, lineitem, partsupp, orders, nation WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey
        AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey
        AND s_nationkey = n_nationkey AND p_name LIKE '%green%' GROUP BY 1, 2 ORDER BY 1, 2 DESC""",
    "q10": f"""SELECT o_custkey, c_name, c_acctbal, n_name, sum({REVENUE}) revenue
        FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1995-01-01' AND l_returnflag = 'R'
        AND c_nationkey = n_nationkey GROUP BY ALL ORDER BY revenue DESC""",
    "q11": """WITH stock AS (SELECT ps_partkey, ps_supplycost::DOUBLE * ps_availqty worth
            FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey
            AND n_name IN ('GERMANY', 'PERU'))
        SELECT ps_partkey, sum(worth) AS value FROM stock GROUP BY 1
        HAVING sum(worth) > (SELECT sum(worth) * 0.01 FROM stock) ORDER BY 2 DESC""",
    "q12": """SELECT l_shipmode, sum((o_orderpriority IN ('1-URGENT', '2-HIGH'))::INT)::BIGINT high,
        sum((o_orderpriority NOT IN ('1-URGENT', '2-HIGH'))::INT)::BIGINT low FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
        AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1993-01-01' AND l_receiptdate < DATE '1998-01-01'
        GROUP BY 1 ORDER BY 1""",
    "q13": """SELECT c_count, count(*) custdist FROM (SELECT c_custkey, count(o_orderkey) c_count FROM customer
            LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY 1)
        GROUP BY 1 ORDER BY 2 DESC, 1 DESC""",
    "q14": f"""SELECT 100 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0 END) / sum({REVENUE}) promo_revenue
        FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-01-01'
        AND l_shipdate < DATE '1996-01-01'""",
    "q15": f"""WITH revenue AS (SELECT l_suppkey, sum({REVENUE}) total_revenue FROM lineitem
            WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1997-01-01' GROUP BY 1)
        SELECT s_suppkey, s_name, total_revenue FROM supplier, revenue WHERE s_suppkey = l_suppkey
        AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY 1""",
    "q16": """SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) supplier_cnt FROM partsupp, part
        WHERE p_partkey = ps_partkey AND p_brand != 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
        AND p_size IN (3, 9, 14, 1, 5, 7) AND ps_suppkey NOT IN
            (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3""",
    "q17": """SELECT coalesce(sum(l_extendedprice), 0) / 7 avg_yearly FROM lineitem, part WHERE p_partkey = l_partkey
        AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity <
            (SELECT 0.7 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
    "q18": """SELECT c_name, o_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)::BIGINT quantity
        FROM customer, orders, lineitem WHERE o_orderkey IN
            (SELECT l_orderkey FROM lineitem GROUP BY 1 HAVING sum(l_quantity) > 180)
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY ALL ORDER BY o_totalprice DESC, o_orderdate""",
    "q19": f"""SELECT sum({REVENUE}) revenue FROM lineitem, part WHERE p_partkey = l_partkey
        AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON' AND (
            (p_brand = 'Brand#12' AND p_container IN ('SM BOX', 'SM PKG') AND l_quantity BETWEEN 1 AND 21
                AND p_size BETWEEN 1 AND 10)
            OR (p_brand = 'Brand#23' AND p_container IN ('MED BOX', 'MED PKG') AND l_quantity BETWEEN 10 AND 30
                AND p_size BETWEEN 1 AND 12)
            OR (p_brand = 'Brand#34' AND p_container IN ('LG BOX', 'LG PKG') AND l_quantity BETWEEN 20 AND 40
                AND p_size BETWEEN 1 AND 15))""",
    "q20": """SELECT s_name, s_acctbal FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_regionkey <= 2
        AND s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN
            (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') AND ps_availqty >
            (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'))
        ORDER BY s_name""",
    "q21": """SELECT s_name, count(*) numwait FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey
        AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate AND EXISTS
            (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey != l1.l_suppkey)
        AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey
            AND l3.l_suppkey != l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
        AND s_nationkey = n_nationkey AND n_regionkey = 4 GROUP BY 1 ORDER BY 2 DESC, 1""",
    "q22": """WITH chosen AS (SELECT *, substring(c_phone, 1, 2) code FROM customer WHERE substring(c_phone, 1, 2) IN
            ('13', '31', '23', '29', '30', '18', '17', '11', '25'))
        SELECT code, count(*) numcust, sum(c_acctbal) totacctbal FROM chosen WHERE c_acctbal >
            (SELECT avg(c_acctbal) FROM chosen WHERE c_acctbal > 0)
        AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey) GROUP BY 1 ORDER BY 1""",
}
