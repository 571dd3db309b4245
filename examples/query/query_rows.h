// TPC-H's queries 1 and 6 as steps over columns: what a row adds to which sums. The same for the loops of the host (query.c) and
// the kernels of a GPU (query.cu).
//
// A step reads the columns that it names, and `group`, a byte a row: steps before it have left there which group the row
// belongs to. A step can therefore run as soon as its own columns are there.
#ifndef QUERY_ROWS_H
#define QUERY_ROWS_H

#include <stdint.h>

#ifdef __CUDACC__
#define QUERY_INLINE __device__ __forceinline__
#else
#define QUERY_INLINE static inline
#endif

/// Sums are of 128 bits, modulo 2^128: of TPC-H's values exact at any scale factor.
__extension__ typedef unsigned __int128 query_sum;

/// Groups of query 1, in the order of its answer: A F, A O, N F, N O, R F, R O. Query 6 has the first only.
enum { QUERY_STRANGE = 6, QUERY_GROUPS = 7, QUERY_NO_GROUP = 255 };
/// The sums, and their scales: prices and quantities in hundredths, products with a rate in hundredths of those.
enum { QUERY_COUNT, QUERY_QUANTITY, QUERY_DISCOUNT, QUERY_PRICE, QUERY_DISCOUNTED, QUERY_CHARGE, QUERY_KINDS };

/// The columns that are read, `rows` of each; decimals of two digits as integers, dates as days since 1970.
enum { COLUMN_DATE, COLUMN_FLAG, COLUMN_STATUS, COLUMN_QUANTITY, COLUMN_DISCOUNT, COLUMN_PRICE, COLUMN_TAX, QUERY_COLUMNS };
typedef struct query_columns {
    const int32_t *date;
    const uint8_t *flag, *status;
    const int64_t *quantity, *discount, *price, *tax;
    uint8_t *group;
    uint64_t rows;
} query_columns;

/// A sum on its way through 64-bit additions of many threads: low + middle * 2^32 + high * 2^64, where a thread gives at most 32
/// bits to the first two.
typedef struct query_parts {
    unsigned long long low, middle, high;
} query_parts;
typedef struct query_sums {
    query_parts of[QUERY_GROUPS][QUERY_KINDS];
} query_sums;

/// The summands of a row: two kinds of sums (which ones, the step says) of a group, or of none.
typedef struct query_added {
    unsigned group;
    query_sum first, second;
} query_added;

/// Steps: name, query, the columns that must be there (bits by COLUMN_*), the kinds that it adds to.
#define QUERY_BIT(column) (1U << (column))
#define QUERY_STEPS(X)                                                                                                           \
    X(q1_groups, 1, QUERY_BIT(COLUMN_DATE) | QUERY_BIT(COLUMN_FLAG) | QUERY_BIT(COLUMN_STATUS), QUERY_COUNT, QUERY_COUNT)        \
    X(q1_quantity, 1, QUERY_BIT(COLUMN_QUANTITY), QUERY_QUANTITY, QUERY_QUANTITY)                                                \
    X(q1_price, 1, QUERY_BIT(COLUMN_DISCOUNT) | QUERY_BIT(COLUMN_PRICE), QUERY_PRICE, QUERY_DISCOUNTED)                          \
    X(q1_rates, 1, QUERY_BIT(COLUMN_DISCOUNT) | QUERY_BIT(COLUMN_PRICE) | QUERY_BIT(COLUMN_TAX), QUERY_DISCOUNT, QUERY_CHARGE)   \
    X(q6_date, 6, QUERY_BIT(COLUMN_DATE), QUERY_COUNT, QUERY_COUNT)                                                              \
    X(q6_discount, 6, QUERY_BIT(COLUMN_DISCOUNT), QUERY_COUNT, QUERY_COUNT)                                                      \
    X(q6_quantity, 6, QUERY_BIT(COLUMN_QUANTITY), QUERY_COUNT, QUERY_COUNT)                                                      \
    X(q6_price, 6, QUERY_BIT(COLUMN_DISCOUNT) | QUERY_BIT(COLUMN_PRICE), QUERY_COUNT, QUERY_DISCOUNTED)

enum { // days since 1970
    DAY_1994_01_01 = 8766,
    DAY_1995_01_01 = 9131,
    DAY_1998_09_02 = 10471, // 1998-12-01 less 90 days
};

/// A signed integer as it is summed.
QUERY_INLINE query_sum query_term(int64_t value) { return ((query_sum)(value < 0 ? ~UINT64_C(0) : 0) << 64) | (uint64_t)value; }

/// select .. count(*) .. where l_shipdate <= date '1998-12-01' - interval '90' day group by l_returnflag, l_linestatus
QUERY_INLINE query_added q1_groups_row(const query_columns *c, uint64_t row) {
    uint8_t flag = c->flag[row], status = c->status[row];
    unsigned group = flag == 'A' ? 0 : flag == 'N' ? 2 : flag == 'R' ? 4 : QUERY_STRANGE;
    if (status == 'O') group++;
    if ((status != 'O' && status != 'F') || group > QUERY_STRANGE) group = QUERY_STRANGE;
    if (c->date[row] > DAY_1998_09_02) group = QUERY_NO_GROUP;
    c->group[row] = (uint8_t)group;
    return (query_added){group, 1, 0};
}

/// sum(l_quantity)
QUERY_INLINE query_added q1_quantity_row(const query_columns *c, uint64_t row) {
    return (query_added){c->group[row], query_term(c->quantity[row]), 0};
}

/// sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount))
QUERY_INLINE query_added q1_price_row(const query_columns *c, uint64_t row) {
    query_sum price = query_term(c->price[row]);
    return (query_added){c->group[row], price, price * (100 - query_term(c->discount[row]))};
}

/// sum(l_discount), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax))
QUERY_INLINE query_added q1_rates_row(const query_columns *c, uint64_t row) {
    query_sum discounted = query_term(c->price[row]) * (100 - query_term(c->discount[row]));
    return (query_added){c->group[row], query_term(c->discount[row]), discounted * (100 + query_term(c->tax[row]))};
}

/// where l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year
QUERY_INLINE query_added q6_date_row(const query_columns *c, uint64_t row) {
    int32_t date = c->date[row];
    c->group[row] = date >= DAY_1994_01_01 && date < DAY_1995_01_01 ? 0 : QUERY_NO_GROUP;
    return (query_added){QUERY_NO_GROUP, 0, 0};
}

/// and l_discount between 0.06 - 0.01 and 0.06 + 0.01
QUERY_INLINE query_added q6_discount_row(const query_columns *c, uint64_t row) {
    if (c->discount[row] < 5 || c->discount[row] > 7) c->group[row] = QUERY_NO_GROUP;
    return (query_added){QUERY_NO_GROUP, 0, 0};
}

/// and l_quantity < 24
QUERY_INLINE query_added q6_quantity_row(const query_columns *c, uint64_t row) {
    if (c->quantity[row] >= 2400) c->group[row] = QUERY_NO_GROUP;
    return (query_added){QUERY_NO_GROUP, 0, 0};
}

/// sum(l_extendedprice * l_discount)
QUERY_INLINE query_added q6_price_row(const query_columns *c, uint64_t row) {
    return (query_added){c->group[row], 1, query_term(c->price[row]) * query_term(c->discount[row])};
}

#endif
