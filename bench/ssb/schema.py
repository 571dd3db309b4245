"""The tables of the Star Schema Benchmark: columns, dictionaries, sizes. Nothing here needs NumPy.

A column is `i32`, `u8`, `text` (no dictionary), or the name of a dictionary: such a column is written as text, and as numbers under
its name with `_code` behind it. A number is the word's place in the dictionary.
"""

import datetime
import math

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
# TPC-H's order of nations, and each one's region.
NATIONS = [("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3),
           ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0),
           ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
           ("UNITED KINGDOM", 3), ("UNITED STATES", 1)]
COLORS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon chocolate
    coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey
    honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint misty moccasin
    navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell
    sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow""".split()
MONTHS = "January February March April May June July August September October November December".split()
FIRST_YEAR, LAST_YEAR = 1992, 1998


def crossed(*lists):
    """All combinations of a word of each list, the last list fastest."""
    words = [""]
    for each in lists:
        words = [f"{left} {right}".strip() for left in words for right in each.split()]
    return words


DICTIONARIES = {
    "region": REGIONS,
    "nation": [nation for nation, _ in NATIONS],
    "city": [f"{nation[:9]:9}{digit}" for nation, _ in NATIONS for digit in range(10)],
    "segment": ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"],
    "mfgr": [f"MFGR#{m}" for m in range(1, 6)],
    "category": [f"MFGR#{m}{c}" for m in range(1, 6) for c in range(1, 6)],
    "brand": [f"MFGR#{m}{c}{b}" for m in range(1, 6) for c in range(1, 6) for b in range(1, 41)],
    "color": COLORS,
    "type": crossed("STANDARD SMALL MEDIUM LARGE ECONOMY PROMO", "ANODIZED BURNISHED PLATED POLISHED BRUSHED", "TIN NICKEL BRASS STEEL COPPER"),
    "container": crossed("SM LG MED JUMBO WRAP", "CASE BOX BAG JAR PKG PACK CAN DRUM"),
    "priority": ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"],
    "mode": ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"],
    "weekday": ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
    "month": MONTHS,
    "yearmonth": [f"{month[:3]}{year}" for year in range(FIRST_YEAR, LAST_YEAR + 1) for month in MONTHS],
    "season": ["Winter", "Spring", "Summer", "Fall", "Christmas"],
}

TABLES = {
    "lineorder": {
        "lo_orderkey": "i32", "lo_linenumber": "i32", "lo_custkey": "i32", "lo_partkey": "i32", "lo_suppkey": "i32", "lo_orderdate": "i32",
        "lo_orderpriority": "priority", "lo_shippriority": "i32", "lo_quantity": "i32", "lo_extendedprice": "i32", "lo_ordtotalprice": "i32",
        "lo_discount": "i32", "lo_revenue": "i32", "lo_supplycost": "i32", "lo_tax": "i32", "lo_commitdate": "i32", "lo_shipmode": "mode"},
    "customer": {"c_custkey": "i32", "c_name": "text", "c_address": "text", "c_city": "city", "c_nation": "nation", "c_region": "region",
                 "c_phone": "text", "c_mktsegment": "segment"},
    "supplier": {"s_suppkey": "i32", "s_name": "text", "s_address": "text", "s_city": "city", "s_nation": "nation", "s_region": "region",
                 "s_phone": "text"},
    "part": {"p_partkey": "i32", "p_name": "text", "p_mfgr": "mfgr", "p_category": "category", "p_brand1": "brand", "p_color": "color",
             "p_type": "type", "p_size": "i32", "p_container": "container"},
    "date": {"d_datekey": "i32", "d_date": "text", "d_dayofweek": "weekday", "d_month": "month", "d_year": "i32", "d_yearmonthnum": "i32",
             "d_yearmonth": "yearmonth", "d_daynuminweek": "i32", "d_daynuminmonth": "i32", "d_daynuminyear": "i32", "d_monthnuminyear": "i32",
             "d_weeknuminyear": "i32", "d_sellingseason": "season", "d_lastdayinweekfl": "u8", "d_lastdayinmonthfl": "u8", "d_holidayfl": "u8",
             "d_weekdayfl": "u8"},
}

FIRST_DAY, LAST_DAY = datetime.date(FIRST_YEAR, 1, 1), datetime.date(LAST_YEAR, 12, 31)
DAYS = (LAST_DAY - FIRST_DAY).days + 1  # 2557: seven years, two of them leap years
ORDER_DAYS = DAYS - 151  # TPC-H's last order is 151 days before the last day, so that dates after it are in the table, too
LARGEST_SCALE = 300  # order keys are i32


def code_type(dictionary):
    return "u8" if len(DICTIONARIES[dictionary]) <= 256 else "u16"


def written(table, coded=False):
    """{column: (kind, source)} of a table as it is written. `kind` is i32, u8, u16 or text. With `coded`, numbers only."""
    columns = {}
    for name, kind in TABLES[table].items():
        if kind in DICTIONARIES:
            columns[name] = ("text", name)
            columns[f"{name}_code"] = (code_type(kind), name)
        else:
            columns[name] = (kind, name)
    return {name: how for name, how in columns.items() if not (coded and how[0] == "text")}


def sizes(scale):
    """Rows of each dimension, and the number of orders. Below scale 1, where the specification says nothing, parts shrink like the others."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ValueError(f"scale factor {scale}: more than 0, at most {LARGEST_SCALE}")
    parts = 200_000 * math.floor(1 + math.log2(scale)) if scale >= 1 else round(200_000 * scale)
    return {"customer": max(1, round(30_000 * scale)), "supplier": max(1, round(2_000 * scale)), "part": max(1, parts), "date": DAYS,
            "orders": max(1, round(1_500_000 * scale))}
