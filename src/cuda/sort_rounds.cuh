/* sort_rounds.cuh: a stable sort in one launch, of as many keys as fit the multiprocessors: a round for each digit, from the lowest up.
 *
 *     each CTA       loads its tile, ranks it (sort_rank.cuh), and leaves its count of each digit in a row that all can see
 *                    brings the tile into runs in shared memory
 *     waits          until it has seen all rows: they say where each digit begins, and how much of it the CTAs before have
 *     each CTA       copies its runs there
 *     waits          until all have, if there is another digit
 *
 * A pass of onesweep (sort_pass.cuh) must be told where digits begin, which is a launch and a read of the keys more, and looks back from
 * tile to tile. Here rows are all that is exchanged (sort_exchange.cuh). The CTAs must be resident together, so the launch is cooperative,
 * and each has one tile.
 *
 * By three digits or more, the first round begins with a wait more: then all know which bits vary. Digits that all keys share are left out;
 * of sorts by all bits, so are all bits that do not vary, if that saves a round (sort_gaps.cuh).
 *
 * All keys and values of a round have been read when the first one is written, so sorting in place is like any other, but for values, which
 * are fetched late: they are copied first.
 * Cost: keys and values read once and written once a round, mostly in L2; 2 bytes of a row for each digit, read by every CTA. */
#ifndef UPSWEEP_CUDA_SORT_ROUNDS_CUH
#define UPSWEEP_CUDA_SORT_ROUNDS_CUH

#include "sort_exchange.cuh"
#include "sort_gaps.cuh"
#include "sort_scratch.cuh"
#include "sort_sums.cuh"
#include "sort_tile.cuh"

/* Of the teams, whose counts are summed at the same time: in so many parts, by a thread for each digit in each. */
enum { ROUNDS_MOST_PARTS = ROUNDS_THREADS / SORT_DIGITS, ROUNDS_PART_TEAMS = SORT_DIGITS / SORT_TEAM };

/* By the larger CTAs each round is a launch: in a loop there would be too few registers. */
static constexpr __host__ __device__ bool one_round(int nthreads) { return nthreads == ROUNDS_THREADS; }

struct rounds_job {
    struct sort_job sort;
    struct rounds_exchange *exchange;
    bool looks;           /* which bits vary is worth while to know */
    bool all_bits;        /* of the keys are sorted by */
    uint32_t first_round; /* of this launch */
    uint32_t ndigits;
};

struct rounds_desk {
    struct bit_gaps gaps; /* the digits, a round each; and how images are closed up, if they are */
    bool closed;
    uint32_t base[SORT_DIGITS]; /* where a key of the digit goes, less its place in the tile */
    uint32_t total[SORT_DIGITS], of_group[SORT_DIGITS];
    uint32_t part[ROUNDS_MOST_PARTS][SORT_DIGITS];
    uint32_t sums[32];
    uint64_t seen[32];
    uint32_t turn;
};

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* The bits in which any keys differ from the first. All threads of all CTAs call it. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ uint64_t find_varying(const struct rounds_job &job, KEY first, struct rounds_desk &s) {
    const struct key_order<KEY> order(job.sort);
    KEY varying = 0;
    uint32_t nstrays = 0; /* there are none */
    read_keys((const KEY *)job.sort.keys_in, job.sort.n, varying_bits<KEY>{order, first, {~UINT64_C(0), 0}, varying, nstrays}, THREADS);
    const uint64_t of_cta = or_of_threads(varying, s.seen, THREADS / 32);
    if (threadIdx.x == 0) job.exchange->varying[blockIdx.x] = of_cta;
    arrive(job.exchange, 1);
    await_others(job.exchange, 1);
    return or_of_threads(threadIdx.x < gridDim.x ? __ldcg(&job.exchange->varying[threadIdx.x]) : 0, s.seen, THREADS / 32);
}

/* One thread calls it. There is a digit at least, since all must be moved. */
template <typename KEY>
static __device__ void plan_rounds(const struct rounds_job &job, uint64_t varying, KEY first, struct rounds_desk &s) {
    if constexpr (sizeof(KEY) >= 4) {
        s.closed = job.looks && job.all_bits && digits_saved(varying) > 0;
        if (s.closed) {
            plan_digits(s.gaps, count_bits(varying), 0);
            plan_closing<KEY>(s.gaps, (KEY)varying, first);
            return;
        }
    }
    uint32_t ndigits = 0;
    s.gaps.shift[0] = s.gaps.mask[0] = 0;
    for (uint32_t pass = 0; pass < job.sort.npasses; pass++) {
        const uint32_t shift = job.sort.shift[pass], mask = job.sort.mask[pass];
        const uint32_t low = constant_below(varying >> shift & mask);
        if (low == 32) continue;
        s.gaps.shift[ndigits] = shift + low;
        s.gaps.mask[ndigits++] = mask >> low;
    }
    s.gaps.ndigits = max(ndigits, 1u);
}

/* From buffer to buffer, so that the last round ends in the output. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ struct sort_tile<KEY> tile_of_round(const struct rounds_job &job, uint32_t round, uint32_t nrounds) {
    const struct sort_job &sort = job.sort;
    const uint32_t tile_items = sort.rows * THREADS;
    const bool to_out = (nrounds - round) % 2, last = round + 1 == nrounds;
    const void *values_in = round == 0 ? sort.values_in : to_out ? sort.values_tmp : sort.values_out;
    const void *keys_in = round == 0 ? sort.keys_in : to_out ? sort.keys_tmp : sort.keys_out;
    struct sort_tile<KEY> tile = {};
    tile.first = blockIdx.x * tile_items;
    tile.count =
        tile.first < sort.n ? min((uint32_t)(sort.n - tile.first), tile_items) : 0; /* beneath another launch a CTA may have none */
    tile.keys_src = (const KEY *)keys_in + tile.first;
    tile.keys_dst = sort.drop_keys && last ? NULL : (KEY *)(to_out ? sort.keys_out : sort.keys_tmp);
    tile.numbered = !values_in || sort.by_place;
    tile.number = values_in ? 0 : tile.first;
    tile.values_src = (const char *)values_in + tile.first * sort.value_nbytes;
    tile.values_dst = (char *)(to_out ? sort.values_out : sort.values_tmp);
    return tile;
}

/* Values whose place the output takes are read, and from then on read where they are copied to, before the CTA's row can be seen. */
template <int THREADS, typename KEY>
static __device__ __forceinline__ void copy_values_aside(const struct sort_job &sort, struct sort_tile<KEY> *tile) {
    char *copy = (char *)sort.values_tmp + tile->first * sort.value_nbytes;
    for (uint32_t i = threadIdx.x; i < tile->count; i += THREADS) {
        const uint32_t at = i * sort.value_nbytes;
        copy_value(copy + at, tile->values_src + at, sort.value_nbytes, sort.value_unit);
    }
    tile->values_src = copy;
}

/* ---- a round ----------------------------------------------------------------------------------------------------------------- */

/* Turns the teams' counts into the places in the tile where each team's keys of each digit start, and leaves the CTA's row. Returns where
 * digit threadIdx.x % 256 starts. All threads call it: thread d of each part of the CTA for digit d in the part's teams. */
template <int THREADS>
static __device__ __forceinline__ uint32_t place_teams(uint32_t *row, uint32_t mask, bool fenced, uint32_t *counters,
                                                       struct rounds_desk &s) {
    const uint32_t digit = threadIdx.x % SORT_DIGITS, part = threadIdx.x / SORT_DIGITS;
    const bool has_digit = digit <= mask;
    uint32_t *const of_part = counters + part * ROUNDS_PART_TEAMS * TEAM_WORDS + digit;
    uint32_t counts[ROUNDS_PART_TEAMS] = {}, sum = 0;
#pragma unroll
    for (int team = 0; team < ROUNDS_PART_TEAMS; team++) {
        if (has_digit) sum += counts[team] = of_part[team * TEAM_WORDS] / RANK_ONE;
    }
    s.part[part][digit] = sum;
    __syncthreads(); /* the sums of all parts */
    uint32_t here = 0, place = 0;
    for (uint32_t p = 0; p < THREADS / SORT_DIGITS; p++) {
        const uint32_t count = s.part[p][digit];
        here += count;
        place += p < part ? count : 0;
    }
    if (fenced) __threadfence(); /* what this CTA has read is read before its row can be seen */
    store_row(row, mask + 1, here);
    const uint32_t digit_start = scan_threads(here, s.sums, part * (SORT_DIGITS / 32));
    place += digit_start;
#pragma unroll
    for (int team = 0; team < ROUNDS_PART_TEAMS; team++) {
        if (has_digit) of_part[team * TEAM_WORDS] = place;
        place += counts[team];
    }
    return digit_start;
}

/* Waits for the rows of this CTA's group, and for the sums of all groups. All threads call it. */
template <int THREADS>
static __device__ __forceinline__ void add_groups(struct rounds_rows *rows, uint32_t ndigits, bool fenced, struct rounds_desk &s) {
    const uint32_t group = blockIdx.x / ROUNDS_GROUP, first = group * ROUNDS_GROUP, ngroups = (gridDim.x - 1) / ROUNDS_GROUP + 1;
    const uint32_t nmembers = min(gridDim.x - first, (uint32_t)ROUNDS_GROUP);
    add_rows(rows->of_cta + first, nmembers, blockIdx.x - first, ndigits, s.of_group, s.base, THREADS);
    if (fenced) __threadfence(); /* what the group has read is read before others know */
    __syncthreads();             /* the group's sums */
    if (blockIdx.x == first + nmembers - 1 && threadIdx.x < SORT_DIGITS) store_row(rows->of_group[group], ndigits, s.of_group[threadIdx.x]);
    add_rows(rows->of_group, ngroups, group, ndigits, s.total, s.base, THREADS);
}

/* Waits for all rows; then s.base says where the keys of each digit go. All threads call it. */
template <int THREADS>
static __device__ __forceinline__ void find_bases(struct rounds_rows *rows, uint32_t ndigits, bool fenced, uint32_t digit_start,
                                                  struct rounds_desk &s) {
    const bool has_digit = threadIdx.x < SORT_DIGITS;
    if (gridDim.x * ndigits <= ROUNDS_DIRECT)
        add_rows(rows->of_cta, gridDim.x, blockIdx.x, ndigits, s.total, s.base, THREADS);
    else
        add_groups<THREADS>(rows, ndigits, fenced, s);
    if (fenced) __threadfence(); /* what all have read is read before it is written */
    __syncthreads();             /* the sums */
    const uint32_t total = has_digit ? s.total[threadIdx.x] : 0, start = scan_threads(total, s.sums);
    if (has_digit) s.base[threadIdx.x] += start - digit_start;
    __syncthreads(); /* the bases */
}

/* How keys are read and written in a round. */
template <typename KEY, bool ONE>
static __device__ __forceinline__ auto order_of_round(const struct rounds_job &job, const struct rounds_desk &s, uint32_t round) {
    if constexpr (sizeof(KEY) >= 4 && !ONE)
        return closed_order<KEY>(key_order<KEY>(job.sort), s.gaps, s.closed, round);
    else
        return key_order<KEY>(job.sort);
}

/* All that is zero when a round begins. */
static __device__ __forceinline__ void clear_desk(uint32_t *counters, struct rounds_desk &s) {
    if (threadIdx.x < SORT_DIGITS) s.base[threadIdx.x] = s.total[threadIdx.x] = s.of_group[threadIdx.x] = 0;
    clear_counters(counters + threadIdx.x / 32 * (32 / SORT_TEAM) * TEAM_WORDS);
}

/* All threads of all CTAs call it. s_memory: first the teams' counters, zeroed, then the tile: keys, then words. */
template <typename KEY, int VALUE_NBYTES, int THREADS, int ROWS>
static __device__ __forceinline__ void do_round(const struct rounds_job &job, uint32_t round, unsigned char *s_memory,
                                                struct rounds_desk &s) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    constexpr bool ONE = one_round(THREADS); /* whatever is known from the job need not be kept */
    const uint32_t rows = job.sort.rows, start = first_of_thread(rows), nrounds = ONE ? job.ndigits : s.gaps.ndigits;
    struct sort_tile<KEY> tile = tile_of_round<THREADS, KEY>(job, round, nrounds);
    const struct team_items<false> items = items_of_team<false>(rows, tile.count);
    KEY images[ROWS] = {};
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break; /* of few keys, rows that no tile has would take most of the time */
        if (items.has(row)) images[row] = tile.keys_src[start + row * SORT_TEAM];
    }
    constexpr bool EARLY = VALUE_NBYTES > 0 && !ONE; /* there are registers for values, too */
    WORD words[EARLY ? ROWS : 1];
    if constexpr (EARLY) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (row >= (int)rows) break;
            if (items.has(row)) words[row] = value_at<WORD>(tile, start + row * SORT_TEAM);
        }
    } else if constexpr (VALUE_NBYTES > 0) {
        if (round == 0) prefetch_values<WORD>(tile, threadIdx.x / 32 * 32 * rows, rows);
    }
    if constexpr (VALUE_NBYTES > 0) {
        const bool in_place = round == 0 && job.sort.values_in && tile.values_dst == job.sort.values_in;
        if (in_place && (job.sort.by_place || !EARLY)) copy_values_aside<THREADS>(job.sort, &tile);
    }
    const uint32_t shift = ONE ? job.sort.shift[round] : s.gaps.shift[round], mask = ONE ? job.sort.mask[round] : s.gaps.mask[round];
    const uint32_t set = (s.turn + round - job.first_round) % 2;
    const auto order = order_of_round<KEY, ONE>(job, s, round);
    order.make_images(images);
    uint32_t *counters = (uint32_t *)s_memory, *team_counters = counters + threadIdx.x / SORT_TEAM * TEAM_WORDS;
    struct packed_ranks<ROWS> ranks;
    rank_in_team(ranks, images, items, team_counters, shift, mask);
    __syncthreads(); /* all counts */
    const bool fenced = job.sort.in_place && round == 0;
    struct rounds_rows *set_rows = &job.exchange->rows[set];
    const uint32_t digit_start = place_teams<THREADS>(set_rows->of_cta[blockIdx.x], mask, fenced, counters, s);
    __syncthreads(); /* the teams' starts */
    rank_in_tile(ranks, images, team_counters, shift, mask);
    __syncthreads(); /* nobody needs the counters any more */

    KEY *s_images = (KEY *)s_memory;
    WORD *s_words = (WORD *)(s_images + rows * THREADS);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        if (items.has(row)) s_images[ranks.get(row)] = images[row];
    }
    if constexpr (EARLY) {
#pragma unroll
        for (int row = 0; row < ROWS; row++) {
            if (row >= (int)rows) break;
            if (items.has(row)) s_words[ranks.get(row)] = words[row];
        }
    } else if constexpr (VALUE_NBYTES > 0) {
        scatter_words(s_words, ranks, tile, items, start);
    }
    find_bases<THREADS>(set_rows, mask + 1, fenced, digit_start, s); /* its barriers: the tile is in order, too */
    clear_rows(&job.exchange->rows[1 - set], THREADS);               /* nobody reads them: all have left a row of this round */
    undo_order(order, [&](const auto &undo) {
#pragma unroll 4
        for (uint32_t i = threadIdx.x; i < tile.count; i += THREADS) {
            const KEY image = s_images[i];
            const uint32_t to = s.base[digit_of(image, shift, mask)] + i;
            if (tile.keys_dst) tile.keys_dst[to] = undo.key_of_image(image);
            if constexpr (VALUE_NBYTES > 0) put_value(job.sort, tile, to, s_words[i]);
        }
    });
}

/* ---- all rounds -------------------------------------------------------------------------------------------------------------- */

/* All threads of all CTAs call it. s_memory: as do_round(). */
template <typename KEY, int VALUE_NBYTES, int THREADS, int ROWS>
static __device__ __forceinline__ void do_rounds(const struct rounds_job &job, unsigned char *s_memory, struct rounds_desk &s) {
    constexpr bool ONE = one_round(THREADS);
    struct rounds_exchange *exchange = job.exchange;
    if (threadIdx.x == 0) s.turn = exchange->turn;
    clear_desk((uint32_t *)s_memory, s);
    const KEY first = key_order<KEY>(job.sort).image(*(const KEY *)job.sort.keys_in);
    const uint64_t varying = job.looks ? find_varying<THREADS>(job, first, s) : ~UINT64_C(0);
    if (threadIdx.x == 0) plan_rounds(job, varying, first, s);
    __syncthreads(); /* the plan, the turn, and zeroes */
    for (uint32_t round = job.first_round;; round++) {
        do_round<KEY, VALUE_NBYTES, THREADS, ROWS>(job, round, s_memory, s);
        if (ONE || round + 1 == s.gaps.ndigits) break;
        arrive(exchange, round + 2);
        clear_desk((uint32_t *)s_memory, s);
        await_others(exchange, round + 2);
        __syncthreads(); /* all of the others have arrived; zeroes */
    }
    if (threadIdx.x > 0) return;
    exchange->arrived[blockIdx.x] = 0; /* nobody waits for it any more: all have left a row of the last round */
    if (blockIdx.x == 0) exchange->turn = (s.turn + (ONE ? 1 : s.gaps.ndigits)) % 2;
}

template <typename KEY, int VALUE_NBYTES, int THREADS, int ROWS>
__global__ void __launch_bounds__(THREADS, 1) sort_rounds(const __grid_constant__ struct rounds_job job) {
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct rounds_desk s;
    wait_for_predecessor();
    if (is_for_passes(job.sort)) do_rounds<KEY, VALUE_NBYTES, THREADS, ROWS>(job, s_memory, s);
}

static constexpr __host__ __device__ uint32_t counters_nbytes(uint32_t nthreads) {
    return nthreads / SORT_TEAM * TEAM_WORDS * (uint32_t)sizeof(uint32_t);
}

/* ---- of keys alone, beneath another launch ----------------------------------------------------------------------------------- */

/* Shared memory, behind a tile, or the counters. */
struct rounds_beneath {
    struct rounds_job job;
    struct rounds_desk desk;
};
template <typename KEY> static constexpr __host__ __device__ uint32_t beneath_tile_nbytes() {
    constexpr uint32_t TILE = ROUNDS_SMALL * ROUNDS_SMALL_ROWS * sizeof(KEY), COUNTERS = counters_nbytes(ROUNDS_SMALL);
    return TILE > COUNTERS ? TILE : COUNTERS;
}
template <typename KEY> static constexpr __host__ __device__ uint32_t rounds_beneath_nbytes() {
    return beneath_tile_nbytes<KEY>() + (uint32_t)sizeof(struct rounds_beneath);
}

/* By a launch that has tried to split keys in vain, as many a CTA as the smaller ones of rounds have: so a sort that is split has no launch
 * behind it that does nothing. All threads of all CTAs call it, and end with it, those that have nothing to do at once. */
template <typename KEY>
static __device__ __forceinline__ void sort_beneath(const struct split_job &split, struct rounds_exchange *exchange,
                                                    unsigned char *s_memory) {
    struct rounds_beneath &s = *(struct rounds_beneath *)(s_memory + beneath_tile_nbytes<KEY>());
    __syncthreads(); /* nobody needs the shared memory any more */
    if (threadIdx.x == 0) {
        struct sort_job *sort = &s.job.sort;
        sort->keys_in = split.in;
        sort->keys_out = split.out;
        sort->keys_tmp = split.tmp;
        sort->values_in = sort->values_out = sort->values_tmp = NULL;
        sort->n = split.n;
        sort->flip = split.flip;
        sort->float_mask = split.float_mask;
        sort->npasses = sizeof(KEY);
        for (uint32_t pass = 0; pass < sizeof(KEY); pass++) {
            sort->shift[pass] = pass * SORT_DIGIT_BITS;
            sort->mask[pass] = SORT_DIGITS - 1;
        }
        sort->in_place = split.in == split.out;
        sort->drop_keys = false;
        sort->rows = split.tile_items / ROUNDS_SMALL;
        s.job.exchange = exchange;
        s.job.looks = s.job.all_bits = true;
        s.job.first_round = 0;
    }
    __syncthreads(); /* the job */
    if (threadIdx.x < ROUNDS_SMALL) do_rounds<KEY, 0, ROUNDS_SMALL, ROUNDS_SMALL_ROWS>(s.job, s_memory, s.desk);
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

static struct rounds_exchange *rounds_exchange_of(const struct cuda_queue *queue) {
    return (struct rounds_exchange *)((char *)queue->control + CUDA_CONTROL_ROUNDS);
}

static uint32_t rounds_digits(const struct sort_args *args) {
    return (args->hi_bit - args->lo_bit + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
}

/* Is a sort by so few bits that nothing else need be tried? */
static bool is_by_few_rounds(const struct sort_args *args, size_t key_nbytes) {
    return rounds_digits(args) <= rounds_most_digits(key_nbytes, args->n, !args->keys_out);
}

/* Do all keys fit the smaller CTAs, one a multiprocessor? */
static bool fits_small_rounds(const struct cuda_queue *queue, uint64_t n) {
    return n <= (uint64_t)queue->nsms * ROUNDS_SMALL * ROUNDS_SMALL_ROWS;
}

/* Do they fit, if they fit the larger ones only by few digits? */
static bool fits_rounds(const struct cuda_queue *queue, const struct sort_args *args, size_t key_nbytes, uint32_t word) {
    if (!queue->cooperative || queue->only_lookback || queue->nsms > ROUNDS_CTAS) return false;
    const uint64_t room = (uint64_t)queue->shared_nbytes - sizeof(struct rounds_desk) - 64, row = ROUNDS_THREADS * (key_nbytes + word);
    const uint64_t rows = min_u64((uint64_t)rounds_most_rows(key_nbytes), room / row);
    if (args->n > (uint64_t)queue->nsms * ROUNDS_THREADS * rows || room < counters_nbytes(ROUNDS_THREADS)) return false;
    return fits_small_rounds(queue, args->n) || is_by_few_rounds(args, key_nbytes);
}

template <typename KEY, int WORD, int THREADS, int ROWS>
static cudaError_t launch_rounds_shape(struct rounds_job *job, const struct cuda_queue *queue) {
    job->sort.rows = rows_at_once(queue, job->sort.n, THREADS, 1, ROWS);
    const uint32_t tile_items = THREADS * job->sort.rows, nctas = ((uint32_t)job->sort.n + tile_items - 1) / tile_items;
    const uint32_t shared = max_u32(tile_items * (uint32_t)(sizeof(KEY) + WORD), counters_nbytes(THREADS));
    return launch_resident(queue, sort_rounds<KEY, WORD, THREADS, ROWS>, nctas, THREADS, shared, *job);
}

template <typename KEY, int WORD> static cudaError_t launch_rounds_of(struct rounds_job *job, const struct cuda_queue *queue) {
    if (fits_small_rounds(queue, job->sort.n)) return launch_rounds_shape<KEY, WORD, ROUNDS_SMALL, ROUNDS_SMALL_ROWS>(job, queue);
    cudaError_t error = cudaSuccess;
    for (job->first_round = 0; job->first_round < job->ndigits && error == cudaSuccess; job->first_round++)
        error = launch_rounds_shape<KEY, WORD, ROUNDS_THREADS, rounds_most_rows(sizeof(KEY))>(job, queue);
    return error;
}

template <typename KEY>
static cudaError_t launch_rounds(const struct sort_job *sort, const struct sort_args *args, const struct cuda_queue *queue, uint32_t word) {
    struct rounds_job job = {};
    job.sort = *sort;
    job.exchange = rounds_exchange_of(queue);
    job.looks = args->hi_bit - args->lo_bit > 2 * SORT_DIGIT_BITS;
    job.all_bits = args->hi_bit - args->lo_bit == sizeof(KEY) * 8;
    job.ndigits = max_u32(rounds_digits(args), 1);
    if (word == 0) return launch_rounds_of<KEY, 0>(&job, queue);
    return word == 4 ? launch_rounds_of<KEY, 4>(&job, queue) : launch_rounds_of<KEY, 8>(&job, queue);
}

#endif
