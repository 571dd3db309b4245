-- TPC-H's 22 queries with the parameters that the specification uses to validate, written for DuckDB. Nothing here is run for its time:
-- `columns.py` asks a planner which columns each of them reads.

-- q1
select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
from lineitem where l_shipdate <= date '1998-12-01' - interval 90 day
group by all order by all;

-- q2
select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
from part join partsupp on ps_partkey = p_partkey join supplier on s_suppkey = ps_suppkey
     join nation on n_nationkey = s_nationkey join region on r_regionkey = n_regionkey
where p_size = 15 and p_type like '%BRASS' and r_name = 'EUROPE'
      and ps_supplycost = (select min(ps_supplycost) from partsupp join supplier on s_suppkey = ps_suppkey
                                  join nation on n_nationkey = s_nationkey join region on r_regionkey = n_regionkey
                           where ps_partkey = p_partkey and r_name = 'EUROPE')
order by s_acctbal desc, n_name, s_name, p_partkey limit 100;

-- q3
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
where c_mktsegment = 'BUILDING' and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10;

-- q4
select o_orderpriority, count(*) from orders
where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-07-01' + interval 3 month
      and exists (select 1 from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by o_orderpriority order by o_orderpriority;

-- q5
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
     join supplier on s_suppkey = l_suppkey and s_nationkey = c_nationkey
     join nation on n_nationkey = s_nationkey join region on r_regionkey = n_regionkey
where r_name = 'ASIA' and o_orderdate >= date '1994-01-01' and o_orderdate < date '1994-01-01' + interval 1 year
group by n_name order by revenue desc;

-- q6
select sum(l_extendedprice * l_discount) from lineitem
where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval 1 year
      and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24;

-- q7
select a.n_name as supplying, b.n_name as buying, year(l_shipdate) as shipped, sum(l_extendedprice * (1 - l_discount))
from supplier join lineitem on l_suppkey = s_suppkey join orders on o_orderkey = l_orderkey
     join customer on c_custkey = o_custkey join nation a on a.n_nationkey = s_nationkey join nation b on b.n_nationkey = c_nationkey
where l_shipdate between date '1995-01-01' and date '1996-12-31'
      and ((a.n_name = 'FRANCE' and b.n_name = 'GERMANY') or (a.n_name = 'GERMANY' and b.n_name = 'FRANCE'))
group by all order by supplying, buying, shipped;

-- q8
select year(o_orderdate) as ordered,
       sum(case when b.n_name = 'BRAZIL' then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount))
from part join lineitem on l_partkey = p_partkey join supplier on s_suppkey = l_suppkey join orders on o_orderkey = l_orderkey
     join customer on c_custkey = o_custkey join nation a on a.n_nationkey = c_nationkey join region on r_regionkey = a.n_regionkey
     join nation b on b.n_nationkey = s_nationkey
where r_name = 'AMERICA' and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = 'ECONOMY ANODIZED STEEL'
group by ordered order by ordered;

-- q9
select n_name, year(o_orderdate) as ordered, sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
from part join lineitem on l_partkey = p_partkey join supplier on s_suppkey = l_suppkey
     join partsupp on ps_suppkey = l_suppkey and ps_partkey = l_partkey
     join orders on o_orderkey = l_orderkey join nation on n_nationkey = s_nationkey
where p_name like '%green%' group by n_name, ordered order by n_name, ordered desc;

-- q10
select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, c_phone, c_comment
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey join nation on n_nationkey = c_nationkey
where o_orderdate >= date '1993-10-01' and o_orderdate < date '1993-10-01' + interval 3 month and l_returnflag = 'R'
group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment order by revenue desc limit 20;

-- q11
select ps_partkey, sum(ps_supplycost * ps_availqty) as worth
from partsupp join supplier on s_suppkey = ps_suppkey join nation on n_nationkey = s_nationkey
where n_name = 'GERMANY' group by ps_partkey
having worth > (select sum(ps_supplycost * ps_availqty) * 0.0001 from partsupp join supplier on s_suppkey = ps_suppkey
                       join nation on n_nationkey = s_nationkey where n_name = 'GERMANY')
order by worth desc;

-- q12
select l_shipmode, count(*) filter (o_orderpriority in ('1-URGENT', '2-HIGH')), count(*) filter (o_orderpriority not in ('1-URGENT', '2-HIGH'))
from orders join lineitem on l_orderkey = o_orderkey
where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
      and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1994-01-01' + interval 1 year
group by l_shipmode order by l_shipmode;

-- q13
select placed, count(*) as customers
from (select c_custkey, count(o_orderkey) as placed
      from customer left join orders on o_custkey = c_custkey and o_comment not like '%special%requests%' group by c_custkey)
group by placed order by customers desc, placed desc;

-- q14
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount))
from lineitem join part on p_partkey = l_partkey
where l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-09-01' + interval 1 month;

-- q15
with supplied as (select l_suppkey, sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem
                  where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-01-01' + interval 3 month group by l_suppkey)
select s_suppkey, s_name, s_address, s_phone, revenue from supplier join supplied on l_suppkey = s_suppkey
where revenue = (select max(revenue) from supplied) order by s_suppkey;

-- q16
select p_brand, p_type, p_size, count(distinct ps_suppkey) as suppliers from partsupp join part on p_partkey = ps_partkey
where p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9)
      and ps_suppkey not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%')
group by p_brand, p_type, p_size order by suppliers desc, p_brand, p_type, p_size;

-- q17
select sum(l_extendedprice) / 7.0 from lineitem join part on p_partkey = l_partkey
where p_brand = 'Brand#23' and p_container = 'MED BOX'
      and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey);

-- q18
select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > 300)
group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by o_totalprice desc, o_orderdate limit 100;

-- q19
select sum(l_extendedprice * (1 - l_discount)) from lineitem join part on p_partkey = l_partkey
where l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON'
      and ((p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity between 1 and 11 and p_size between 1 and 5)
           or (p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20 and p_size between 1 and 10)
           or (p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30 and p_size between 1 and 15));

-- q20
select s_name, s_address from supplier join nation on n_nationkey = s_nationkey
where n_name = 'CANADA'
      and s_suppkey in (select ps_suppkey from partsupp where ps_partkey in (select p_partkey from part where p_name like 'forest%')
                        and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem
                                           where l_partkey = ps_partkey and l_suppkey = ps_suppkey
                                                 and l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval 1 year))
order by s_name;

-- q21
select s_name, count(*) as waiting
from supplier join lineitem a on a.l_suppkey = s_suppkey join orders on o_orderkey = a.l_orderkey join nation on n_nationkey = s_nationkey
where o_orderstatus = 'F' and a.l_receiptdate > a.l_commitdate and n_name = 'SAUDI ARABIA'
      and exists (select 1 from lineitem b where b.l_orderkey = a.l_orderkey and b.l_suppkey <> a.l_suppkey)
      and not exists (select 1 from lineitem c where c.l_orderkey = a.l_orderkey and c.l_suppkey <> a.l_suppkey and c.l_receiptdate > c.l_commitdate)
group by s_name order by waiting desc, s_name limit 100;

-- q22
select substring(c_phone, 1, 2) as code, count(*), sum(c_acctbal) from customer
where code in ('13', '31', '23', '29', '30', '18', '17')
      and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0 and substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
      and not exists (select 1 from orders where o_custkey = c_custkey)
group by code order by code;
