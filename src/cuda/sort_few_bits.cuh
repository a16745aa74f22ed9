/* sort_few_bits.cuh: a stable sort by up to eight bits in one launch, of as many keys as fit the multiprocessors.
 *
 *     each CTA       loads its tile, ranks it (sort_rank.cuh), and leaves its count of each digit in a row that all can see
 *                    brings the tile into runs in shared memory
 *     waits          until it has seen all rows: they say where each digit begins, and how much of it the CTAs before have
 *     each CTA       copies its runs there
 *
 * A pass of onesweep (sort_pass.cuh) must be told where digits begin, which is a launch and a read of the keys more, and looks back from
 * tile to tile. Here rows are all that is exchanged: a count says by itself that it is there, so no fence is needed, nor a word to wait
 * for. The CTAs must be resident together, so the launch is cooperative, and each has one tile.
 *
 * All keys and values have been read when the first one is written, so sorting in place is like any other, but for values, which are
 * fetched late: they are copied first. By 9 to 16 bits there are two launches.
 * Cost: keys and values read once and written once a launch; 2 bytes of a row for each digit, read by every CTA. */
#ifndef UPSWEEP_CUDA_SORT_FEW_BITS_CUH
#define UPSWEEP_CUDA_SORT_FEW_BITS_CUH

#include "sort_scratch.cuh"
#include "sort_sums.cuh"
#include "sort_tile.cuh"

enum {
    FEW_BITS_CTAS = 256, /* at most: one a multiprocessor */
    FEW_BITS_TEAMS = FUSED_THREADS / SORT_TEAM,
    FEW_BITS_PARTS = FUSED_THREADS / SORT_DIGITS, /* of the teams, whose counts are summed at the same time */
    FEW_BITS_PART_TEAMS = FEW_BITS_TEAMS / FEW_BITS_PARTS,
    FEW_BITS_COUNTERS_NBYTES = FEW_BITS_TEAMS * TEAM_WORDS * sizeof(uint32_t),
    FEW_BITS_ROW_LEAST = 16, /* digits of a row: of fewer, too many lanes would add to the same */
};

/* In control memory, zeroed before the first launch. Two sets, which take turns: each launch zeroes the set of the next. */
struct few_bits_counts {
    uint32_t turn;
    uint32_t apart[31];
    uint32_t row[2][FEW_BITS_CTAS][SORT_DIGITS / 2]; /* two digits a word: how many keys of a CTA have them, and one: 0 is not yet there */
};
static_assert(sizeof(struct few_bits_counts) <= CUDA_CONTROL_FEW_BITS_NBYTES, "the rows have a place in control memory");

struct few_bits_job {
    struct sort_job sort; /* keys and values of this pass */
    uint32_t shift, mask;
    struct few_bits_counts *counts;
    void *values_copy; /* NULL, or where the values are first copied to, as the output takes their place */
};

struct few_bits_desk {
    uint32_t base[SORT_DIGITS]; /* where a key of the digit goes, less its place in the tile */
    uint32_t total[SORT_DIGITS];
    uint32_t part[FEW_BITS_PARTS][SORT_DIGITS];
    uint32_t sums[32];
    uint32_t turn;
};

/* ---- the exchange ------------------------------------------------------------------------------------------------------------ */

/* Thread d < 256 has the count of digit d. All threads call it. */
static __device__ __forceinline__ void store_row(uint32_t *row, uint32_t ndigits, uint32_t count) {
    const uint32_t next = __shfl_down_sync(~0u, count, 1), digit = threadIdx.x;
    if (digit % 2 == 0 && digit < max(ndigits, (uint32_t)FEW_BITS_ROW_LEAST))
        store_relaxed(&row[digit / 2], (count + 1) | (next + 1) << 16);
}

/* Adds to the totals what all CTAs have of each digit, and to the bases what those before this one have, as soon as they say so. All
 * threads call it. */
static __device__ __forceinline__ void add_rows(const uint32_t (*rows)[SORT_DIGITS / 2], uint32_t ndigits, uint32_t *s_total,
                                                uint32_t *s_base) {
    constexpr uint32_t LOADS = 8;
    const uint32_t nwords = max(ndigits, (uint32_t)FEW_BITS_ROW_LEAST) / 2, at = threadIdx.x % nwords, step = FUSED_THREADS / nwords;
    uint32_t low = 0, high = 0, low_before = 0, high_before = 0;
    for (uint32_t first = threadIdx.x / nwords; first < gridDim.x; first += LOADS * step) {
        uint32_t two[LOADS];
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) {
            const uint32_t cta = first + i * step;
            two[i] = cta < gridDim.x ? load_relaxed(&rows[cta][at]) : 0x10001;
        }
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) {
            const uint32_t cta = first + i * step;
            while (!two[i]) two[i] = load_relaxed(&rows[cta][at]);
            const uint32_t in_low = (two[i] & 0xffff) - 1, in_high = (two[i] >> 16) - 1;
            low += in_low;
            high += in_high;
            low_before += cta < blockIdx.x ? in_low : 0;
            high_before += cta < blockIdx.x ? in_high : 0;
        }
    }
    for (uint32_t distance = nwords; distance < 32; distance *= 2) {
        low += __shfl_xor_sync(~0u, low, distance);
        high += __shfl_xor_sync(~0u, high, distance);
        low_before += __shfl_xor_sync(~0u, low_before, distance);
        high_before += __shfl_xor_sync(~0u, high_before, distance);
    }
    if (threadIdx.x % 32 >= nwords) return;
    if (low) atomicAdd(&s_total[2 * at], low);
    if (high) atomicAdd(&s_total[2 * at + 1], high);
    if (low_before) atomicAdd(&s_base[2 * at], low_before);
    if (high_before) atomicAdd(&s_base[2 * at + 1], high_before);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static __device__ __forceinline__ struct sort_tile<KEY> tile_of_cta(const struct few_bits_job &job) {
    const struct sort_job &sort = job.sort;
    const uint32_t tile_items = sort.rows * FUSED_THREADS;
    struct sort_tile<KEY> tile = {};
    tile.first = blockIdx.x * tile_items;
    tile.count = min((uint32_t)(sort.n - tile.first), tile_items);
    tile.keys_src = (const KEY *)sort.keys_in + tile.first;
    tile.keys_dst = sort.drop_keys ? NULL : (KEY *)sort.keys_out;
    tile.numbered = !sort.values_in || sort.by_place;
    tile.number = sort.values_in ? 0 : tile.first;
    tile.values_src = (const char *)sort.values_in + tile.first * sort.value_nbytes;
    tile.values_dst = (char *)sort.values_out;
    return tile;
}

/* Values whose place the output takes are read, and from then on read where they are copied to, before the CTA's row can be seen. */
template <typename KEY>
static __device__ __forceinline__ void copy_values_aside(const struct few_bits_job &job, struct sort_tile<KEY> *tile) {
    const struct sort_job &sort = job.sort;
    char *copy = (char *)job.values_copy + tile->first * sort.value_nbytes;
    for (uint32_t i = threadIdx.x; i < tile->count; i += FUSED_THREADS) {
        const uint32_t at = i * sort.value_nbytes;
        copy_value(copy + at, tile->values_src + at, sort.value_nbytes, sort.value_unit);
    }
    tile->values_src = copy;
}

/* Turns the teams' counts into the places in the tile where each team's keys of each digit start, and leaves the CTA's row. Returns where
 * digit threadIdx.x % 256 starts. All threads call it: thread d of each part of the CTA for digit d in the part's teams. */
static __device__ __forceinline__ uint32_t place_teams(const struct few_bits_job &job, uint32_t *counters, struct few_bits_desk &s) {
    const uint32_t digit = threadIdx.x % SORT_DIGITS, part = threadIdx.x / SORT_DIGITS;
    const bool has_digit = digit <= job.mask;
    uint32_t *const of_part = counters + part * FEW_BITS_PART_TEAMS * TEAM_WORDS + digit;
    uint32_t counts[FEW_BITS_PART_TEAMS] = {}, sum = 0;
#pragma unroll
    for (int team = 0; team < FEW_BITS_PART_TEAMS; team++) {
        if (has_digit) sum += counts[team] = of_part[team * TEAM_WORDS] / RANK_ONE;
    }
    s.part[part][digit] = sum;
    __syncthreads(); /* the sums of all parts */
    uint32_t here = 0, place = 0;
#pragma unroll
    for (uint32_t p = 0; p < FEW_BITS_PARTS; p++) {
        const uint32_t count = s.part[p][digit];
        here += count;
        place += p < part ? count : 0;
    }
    if (job.sort.in_place) __threadfence(); /* what this CTA has read is read before its row can be seen */
    store_row(job.counts->row[s.turn][blockIdx.x], job.mask + 1, here);
    const uint32_t digit_start = scan_threads(here, s.sums, part * (SORT_DIGITS / 32));
    place += digit_start;
#pragma unroll
    for (int team = 0; team < FEW_BITS_PART_TEAMS; team++) {
        if (has_digit) of_part[team * TEAM_WORDS] = place;
        place += counts[team];
    }
    return digit_start;
}

/* Waits for all rows; then s.base says where the keys of each digit go. All threads call it. */
static __device__ __forceinline__ void find_bases(const struct few_bits_job &job, uint32_t digit_start, struct few_bits_desk &s) {
    const bool has_digit = threadIdx.x < SORT_DIGITS;
    struct few_bits_counts *counts = job.counts;
    add_rows(counts->row[s.turn], job.mask + 1, s.total, s.base);
    uint4 *next = (uint4 *)counts->row[1 - s.turn];
    for (uint32_t i = blockIdx.x * FUSED_THREADS + threadIdx.x; i < sizeof counts->row[0] / sizeof *next; i += gridDim.x * FUSED_THREADS)
        next[i] = make_uint4(0, 0, 0, 0);
    if (job.sort.in_place) __threadfence(); /* what all have read is read before it is written */
    __syncthreads();                        /* the sums; and all CTAs have read the turn */
    if (blockIdx.x == 0 && threadIdx.x == 0) counts->turn = 1 - s.turn;
    const uint32_t total = has_digit ? s.total[threadIdx.x] : 0, start = scan_threads(total, s.sums);
    if (has_digit) s.base[threadIdx.x] += start - digit_start;
    __syncthreads(); /* the bases */
}

/* Dynamic shared memory: first the teams' counters, then the tile: keys, then words. */
template <typename KEY, int VALUE_NBYTES, int ROWS>
__global__ void __launch_bounds__(FUSED_THREADS, 1) sort_few_bits(const __grid_constant__ struct few_bits_job job) {
    typedef typename value_word<VALUE_NBYTES>::type WORD;
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct few_bits_desk s;
    wait_for_predecessor();
    struct sort_tile<KEY> tile = tile_of_cta<KEY>(job);
    const uint32_t rows = job.sort.rows, shift = job.shift, mask = job.mask, start = first_of_thread(rows);
    const struct team_items<false> items = items_of_team<false>(rows, tile.count);
    KEY images[ROWS] = {};
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break; /* of few keys, rows that no tile has would take most of the time */
        if (items.has(row)) images[row] = tile.keys_src[start + row * SORT_TEAM];
    }
    if constexpr (VALUE_NBYTES > 0) {
        if (job.values_copy)
            copy_values_aside(job, &tile);
        else
            prefetch_values<WORD>(tile, threadIdx.x / 32 * 32 * rows, rows);
    }
    if (threadIdx.x == 0) s.turn = job.counts->turn;
    if (threadIdx.x < SORT_DIGITS) s.base[threadIdx.x] = s.total[threadIdx.x] = 0;
    uint32_t *counters = (uint32_t *)s_memory, *team_counters = counters + threadIdx.x / SORT_TEAM * TEAM_WORDS;
    clear_counters(counters + threadIdx.x / 32 * (32 / SORT_TEAM) * TEAM_WORDS);
    const struct key_order<KEY> order(job.sort);
    order.make_images(images);
    struct packed_ranks<ROWS> ranks;
    rank_in_team(ranks, images, items, team_counters, shift, mask);
    __syncthreads(); /* all counts, the turn, and zeroes */
    const uint32_t digit_start = place_teams(job, counters, s);
    __syncthreads(); /* the teams' starts */
    rank_in_tile(ranks, images, team_counters, shift, mask);
    __syncthreads(); /* nobody needs the counters any more */

    KEY *s_images = (KEY *)s_memory;
    WORD *s_words = (WORD *)(s_images + rows * FUSED_THREADS);
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        if (row >= (int)rows) break;
        if (items.has(row)) s_images[ranks.get(row)] = images[row];
    }
    if constexpr (VALUE_NBYTES > 0) scatter_words(s_words, ranks, tile, items, start);
    find_bases(job, digit_start, s); /* its barriers: the tile is in order, too */
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < tile.count; i += FUSED_THREADS) {
        const KEY image = s_images[i];
        const uint32_t to = s.base[digit_of(image, shift, mask)] + i;
        if (tile.keys_dst) tile.keys_dst[to] = order.key_of_image(image);
        if constexpr (VALUE_NBYTES > 0) put_value(job.sort, tile, to, s_words[i]);
    }
}

/* ---- the host's part --------------------------------------------------------------------------------------------------------- */

/* Rows of keys of a tile, if there is one tile a multiprocessor; 0 if that is too much. */
static uint32_t few_bits_rows(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, uint32_t word) {
    const uint64_t row = (uint64_t)queue->nsms * FUSED_THREADS, rows = (n + row - 1) / row;
    const uint64_t room = (uint64_t)queue->shared_nbytes - sizeof(struct few_bits_desk) - 64;
    const uint64_t most = min_u64((uint64_t)few_bits_most_rows(key_nbytes), room / (FUSED_THREADS * (key_nbytes + word)));
    return rows <= most && room >= FEW_BITS_COUNTERS_NBYTES ? (uint32_t)rows : 0;
}

template <typename KEY, int WORD> static cudaError_t launch_few_bits_of(const struct few_bits_job *job, const struct cuda_queue *queue) {
    constexpr int MOST = few_bits_most_rows(sizeof(KEY));
    const uint32_t tile_items = FUSED_THREADS * job->sort.rows, nctas = ((uint32_t)job->sort.n + tile_items - 1) / tile_items;
    const uint32_t shared = max_u32(tile_items * (uint32_t)(sizeof(KEY) + WORD), FEW_BITS_COUNTERS_NBYTES);
    if (job->sort.rows <= 8) return launch_resident(queue, sort_few_bits<KEY, WORD, 8>, nctas, FUSED_THREADS, shared, *job);
    return launch_resident(queue, sort_few_bits<KEY, WORD, MOST>, nctas, FUSED_THREADS, shared, *job);
}

/* How many launches this way takes, one a digit; 0: it is not for this sort. */
static uint32_t few_bits_launches(const struct cuda_queue *queue, const struct sort_args *args, size_t key_nbytes, uint32_t word) {
    const uint32_t ndigits = (args->hi_bit - args->lo_bit + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
    if (!queue->cooperative || queue->only_lookback || queue->nsms > FEW_BITS_CTAS) return 0;
    if (few_bits_rows(queue, args->n, key_nbytes, word) == 0) return 0;
    return ndigits <= few_bits_most_launches(key_nbytes, args->n, !args->keys_out) ? ndigits : 0;
}

/* From buffer to buffer, so that the last launch ends in the output. */
template <typename KEY>
static cudaError_t launch_few_bits(const struct sort_job *sort, uint32_t ndigits, const struct cuda_queue *queue, uint32_t word) {
    struct few_bits_job job = {};
    job.sort = *sort;
    job.sort.rows = few_bits_rows(queue, sort->n, sizeof(KEY), word);
    job.counts = (struct few_bits_counts *)((char *)queue->control + CUDA_CONTROL_FEW_BITS);
    cudaError_t error = cudaSuccess;
    for (uint32_t pass = 0; pass < ndigits && error == cudaSuccess; pass++) {
        const bool last = pass + 1 == ndigits, to_out = (ndigits - pass) % 2;
        if (pass > 0) {
            job.sort.keys_in = job.sort.keys_out;
            job.sort.values_in = job.sort.values_out;
        }
        job.sort.keys_out = to_out ? sort->keys_out : sort->keys_tmp;
        job.sort.values_out = to_out ? sort->values_out : sort->values_tmp;
        job.sort.drop_keys = sort->drop_keys && last;
        job.shift = sort->shift[pass];
        job.mask = sort->mask[pass];
        job.values_copy = job.sort.values_in && job.sort.values_in == job.sort.values_out ? sort->values_tmp : NULL;
        error = word == 0   ? launch_few_bits_of<KEY, 0>(&job, queue)
                : word == 4 ? launch_few_bits_of<KEY, 4>(&job, queue)
                            : launch_few_bits_of<KEY, 8>(&job, queue);
    }
    return error;
}

#endif
