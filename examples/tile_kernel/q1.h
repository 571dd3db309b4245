// Params and sums of the query, for the kernel and the host.
#ifndef Q1_H
#define Q1_H

enum { Q1_COLUMNS = 4, Q1_KEY_BYTES = 512, Q1_THREADS = 256, Q1_BLOCKS_EACH = 4 }; // thread blocks of a multiprocessor

typedef struct q1_params {
    int first_day, last_day; // YYYYMMDD
    int least_discount, most_discount, least_quantity, most_quantity;
} q1_params;

typedef struct q1_sums {
    unsigned long long revenue;
    unsigned long long failed; // threads that met a row that cannot be decoded
} q1_sums;

#endif
