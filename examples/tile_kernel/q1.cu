// SSB's query 1 as a kernel that reads compressed columns: functions of lineorder.cuh decode rows into registers. `zfc compile
// --device-functions` writes that header for a file.
#include "lineorder.cuh"
#include "q1.h"

static __device__ const char keys[Q1_COLUMNS][Q1_KEY_BYTES] = {ZF_TILE_KEY_lo_orderdate, ZF_TILE_KEY_lo_discount,
                                                               ZF_TILE_KEY_lo_quantity, ZF_TILE_KEY_lo_extendedprice};

// Copies the keys: which codes this image is for. The host gives them to zf_tiles_prepare.
extern "C" __global__ void q1_keys(char *to) {
    for (unsigned int k = threadIdx.x; k < sizeof keys; k += blockDim.x) to[k] = (&keys[0][0])[k];
}

// The steps in which a warp goes through a tile: each lane has ZF_TILE_GROUP consecutive rows in each.
#define STEP (32 * ZF_TILE_GROUP)
#define STEPS (ZF_TILE_ROWS / STEP)
static_assert(STEPS * ZF_TILE_GROUP == 64, "a lane has a bit for each of its rows of a tile");

struct columns {
    const zf_tile_column orderdate, discount, quantity, extendedprice;
};

// Whether low <= x <= high, by one comparison, for a low that is at most high.
static __device__ bool within(int x, int low, int high) {
    return (unsigned int)x - (unsigned int)low <= (unsigned int)high - (unsigned int)low;
}

// The bits of the rows that count, of a lane's in a step. The rows of a whole tile are loaded without branches: loads of three
// columns are under way together. Rows behind the last one are loaded as 0, and do not count.
template <bool whole>
static __device__ unsigned int matches(const zf_opened_lo_orderdate &days, const zf_opened_lo_discount &percents,
                                       const zf_opened_lo_quantity &pieces, unsigned int row, const q1_params &params, bool &good) {
    int day[ZF_TILE_GROUP], percent[ZF_TILE_GROUP], piece[ZF_TILE_GROUP];
    if (whole) {
        good &= zf_tile_load_whole_lo_orderdate(days, row, day);
        good &= zf_tile_load_whole_lo_discount(percents, row, percent);
        good &= zf_tile_load_whole_lo_quantity(pieces, row, piece);
    } else {
        good &= zf_tile_load_lo_orderdate(days, row, day);
        good &= zf_tile_load_lo_discount(percents, row, percent);
        good &= zf_tile_load_lo_quantity(pieces, row, piece);
    }
    unsigned int bits = 0;
#pragma unroll
    for (int k = 0; k < ZF_TILE_GROUP; k++) {
        // Without branches: all of it is in registers.
        const bool counts = (whole || row + k < days.rows) & within(day[k], params.first_day, params.last_day) &
                            within(percent[k], params.least_discount, params.most_discount) &
                            within(piece[k], params.least_quantity, params.most_quantity);
        if (counts) bits |= 1u << k;
    }
    return bits;
}

// Rows of a tile that count, one after the other, so that all lanes of the warp have some: `rows` has a lane's bits, `first` is its
// first row. Returns how many the warp has.
static __device__ unsigned int line_up(unsigned long long rows, unsigned int first, unsigned short *waiting) {
    const unsigned int all = 0xffffffff, mine = __popcll(rows);
    unsigned int behind = mine;
    for (unsigned int distance = 1; distance < 32; distance *= 2) {
        const unsigned int before = __shfl_up_sync(all, behind, distance);
        if (threadIdx.x % 32 >= distance) behind += before;
    }
    for (unsigned int at = behind - mine; rows != 0; rows &= rows - 1) {
        const unsigned int bit = __ffsll((long long)rows) - 1;
        waiting[at++] = (unsigned short)(bit / ZF_TILE_GROUP * STEP + first + bit % ZF_TILE_GROUP);
    }
    __syncwarp();
    return __shfl_sync(all, behind, 31);
}

template <bool whole>
static __device__ long long tile_revenue(const columns &c, unsigned int tile, const q1_params &params, unsigned short *waiting,
                                         bool &good) {
    const unsigned int first = threadIdx.x % 32 * ZF_TILE_GROUP;
    const auto days = zf_tile_open_lo_orderdate(c.orderdate, tile);
    const auto percents = zf_tile_open_lo_discount(c.discount, tile);
    const auto pieces = zf_tile_open_lo_quantity(c.quantity, tile);
    unsigned long long rows = 0;
#pragma unroll(whole ? 2 : 1) // the loads of two steps are under way together
    for (unsigned int step = 0; step < STEPS; step++) {
        const unsigned long long bits = matches<whole>(days, percents, pieces, step * STEP + first, params, good);
        rows |= bits << (step * ZF_TILE_GROUP);
    }
    const auto prices = zf_tile_open_lo_extendedprice(c.extendedprice, tile);
    const unsigned int count = line_up(rows, first, waiting);
    long long revenue = 0;
    for (unsigned int k = threadIdx.x % 32; k < count; k += 32) {
        int price, percent;
        good &= zf_tile_get_lo_extendedprice(prices, waiting[k], price);
        good &= zf_tile_get_lo_discount(percents, waiting[k], percent);
        revenue += (long long)price * percent;
    }
    __syncwarp();
    return revenue;
}

// Bounds the wrong way round leave no row.
static __device__ bool leaves_rows(const q1_params &params) {
    return params.first_day <= params.last_day && params.least_discount <= params.most_discount &&
           params.least_quantity <= params.most_quantity;
}

// A warp has one tile after the other.
extern "C" __global__ void __launch_bounds__(Q1_THREADS, Q1_BLOCKS_EACH)
    q1(const columns c, const q1_params params, q1_sums *sums) {
    const unsigned int warps = Q1_THREADS / 32;
    __shared__ unsigned short waiting_of[warps][ZF_TILE_ROWS];
    unsigned short *waiting = waiting_of[threadIdx.x / 32];
    long long revenue = 0;
    bool good = true;
    const unsigned int tiles = leaves_rows(params) ? c.orderdate.tiles : 0;
    for (unsigned int tile = blockIdx.x * warps + threadIdx.x / 32; tile < tiles; tile += gridDim.x * warps) {
        const bool whole = c.orderdate.rows - (unsigned long long)tile * ZF_TILE_ROWS >= ZF_TILE_ROWS;
        revenue += whole ? tile_revenue<true>(c, tile, params, waiting, good) : tile_revenue<false>(c, tile, params, waiting, good);
    }
    for (int distance = 16; distance > 0; distance /= 2) revenue += __shfl_down_sync(0xffffffff, revenue, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums->revenue, (unsigned long long)revenue);
    if (!good) atomicAdd(&sums->failed, 1ULL);
}
