/* sort_pass.cuh: the passes of onesweep, all in one launch: for each digit from the lowest up, a stable partition of all keys by it.
 *
 * CTAs draw tickets: first all tiles of the first pass, then all of the second, and so on. A tile may begin when every tile of the passes
 * before it is done, which is counted; whatever a CTA waits for, here or in a look-back, has an earlier ticket and so is running already.
 * That makes the wait safe without all CTAs being resident at once. Where few keys are sorted, launches are what a sort costs, and where it
 * is found that this sort need not be done at all (sort_split.cuh), there is only one launch to be in vain.
 *
 * Keys alone that have been counted by value are not moved, but written anew (sort_few_fill.cuh), once passes have sorted those few whose
 * values were not worth a count; others are sorted by the ranks of their values (sort_ranked_values.cuh).
 *
 * Keys of 64 bits may be sorted by their highest digits only (sort_mend.cuh). Then they are mended by a second launch, in which the
 * passes by all digits are queued behind, and most often not done.
 *
 * The counts of a look-back have 30 bits, so more keys than fit are taken in portions, each with a look-back of its own.
 * Cost: keys and values read once and written once a pass.
 * Source: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs, 2022. */
#ifndef UPSWEEP_CUDA_SORT_PASS_CUH
#define UPSWEEP_CUDA_SORT_PASS_CUH

#include "sort_few.cuh"
#include "sort_few_fill.cuh"
#include "sort_gaps.cuh"
#include "sort_launch.cuh"
#include "sort_mend.cuh"
#include "sort_ranked_values.cuh"
#include "sort_strays.cuh"
#include "sort_tile.cuh"
#include "sort_unordered.cuh"

/* ---- a pass ------------------------------------------------------------------------------------------------------------------ */

/* What passes sort: all keys, or those that have been put aside (sort_few.cuh). */
struct pass_extent {
    uint64_t n;
    uint32_t ntiles, nportions;
};

static __device__ __forceinline__ struct pass_extent extent_of_passes(const struct sort_job &job, uint32_t naside) {
    if (naside == 0) return {job.n, job.ntiles, job.nportions};
    return {naside, (naside - 1) / (job.rows * SORT_THREADS) + 1, 1};
}

template <typename KEY>
static __device__ __forceinline__ struct sort_tile<KEY> tile_at(const struct sort_job &job, uint64_t n, const struct pass_plan &run,
                                                                uint32_t tile) {
    struct sort_tile<KEY> t;
    const uint32_t tile_items = job.rows * SORT_THREADS;
    t.first = (uint64_t)tile * tile_items;
    t.count = (uint32_t)min((uint64_t)tile_items, n - t.first);
    t.keys_src = (const KEY *)buffer_at(run.keys_src, job.keys_in, job.keys_out, job.keys_tmp) + t.first;
    t.keys_dst = job.drop_keys && run.last ? NULL : (KEY *)buffer_at(run.dst, NULL, job.keys_out, job.keys_tmp);
    const bool indices = run.first && !job.values_in;
    t.numbered = indices || job.by_place;
    t.number = indices ? t.first : 0;
    t.values_src = (const char *)buffer_at(run.src, job.values_in, job.values_out, job.values_tmp) + t.first * job.value_nbytes;
    t.values_dst = (char *)buffer_at(run.dst, NULL, job.values_out, job.values_tmp);
    return t;
}

/* Where a tile's keys of a digit go in this pass and portion; the portion's last tile says where the next portion's begin. low: of the
   pass. */
struct pass_starts {
    static constexpr bool ALONE = false;
    uint64_t (*base)[SORT_MAX_PASSES][SORT_DIGITS];
    uint32_t pass, portion, low;
    bool last_tile;

    __device__ __forceinline__ uint64_t of(uint32_t digit, uint32_t before, uint32_t count) const {
        if (digit >= SORT_DIGITS >> low) return 0;
        const uint64_t start = base[portion % 2][pass][digit << low] + before;
        if (last_tile) base[(portion + 1) % 2][pass][digit << low] = start + count;
        return start;
    }
};

static __device__ __forceinline__ uint32_t tiles_of_portion(const struct sort_job &job, uint32_t ntiles, uint32_t portion) {
    const uint32_t left = ntiles - portion * job.portion_tiles;
    return left < job.portion_tiles ? left : job.portion_tiles;
}

/* Zeroes this tile's share of the states that the next portion will look at. */
static __device__ __forceinline__ void clear_states(uint32_t *states, uint32_t nrows, uint32_t tile, uint32_t ntiles) {
    for (uint32_t row = tile; row < nrows; row += ntiles) {
        if (threadIdx.x < SORT_DIGITS) states[(uint64_t)row * SORT_DIGITS + threadIdx.x] = 0;
    }
}

/* ---- the kernel -------------------------------------------------------------------------------------------------------------- */

/* What one thread of a CTA finds out for all: in shared memory, because registers are short. */
template <typename KEY> struct pass_desk {
    struct pass_extent all;
    uint32_t nruns, ticket; /* of this launch */
    uint32_t finished;      /* tiles that have not been reported yet */
    uint32_t waited_for;    /* tiles that were seen to be done */
    uint32_t portion_tile, portion, round;
    struct pass_plan runs[2 * SORT_MAX_PASSES + 1]; /* as the header has them: a read of it less for each tile */
    struct pass_plan run;
    struct sort_tile<KEY> tile;
    struct tile_place at;
    struct pass_starts starts;
};

template <bool MENDS, typename KEY> static __device__ __forceinline__ void report(const struct sort_job &job, struct pass_desk<KEY> &desk) {
    __threadfence(); /* what this CTA wrote before its tiles are counted as done */
    atomicAdd(&job.header->tiles_done[MENDS], desk.finished);
    desk.finished = 0;
}

/* One thread calls it, after a barrier behind the tile before: takes the ticket's tile, and waits until all tiles that it depends on are
 * done: those of the passes before, and of the portions before. Before it waits it reports its own, and before it leaves: a last portion
 * may have fewer tiles than there are CTAs, and those who do it wait for all others. */
template <bool MENDS, typename KEY>
static __device__ __forceinline__ void take_tile(const struct sort_job &job, struct pass_desk<KEY> &desk) {
    const uint32_t ntiles = desk.all.ntiles;
    if (desk.ticket / ntiles >= desk.nruns) {
        report<MENDS>(job, desk);
        return;
    }
    const uint32_t number = desk.ticket % ntiles, portion = number / job.portion_tiles, portion_tile = number % job.portion_tiles;
    const uint32_t before = desk.ticket - portion_tile;
    if (before != desk.waited_for) {
        report<MENDS>(job, desk);
        while (load_relaxed(&job.header->tiles_done[MENDS]) < before) {
        }
        __threadfence(); /* having seen them done, see what they wrote */
        desk.waited_for = before;
    }
    desk.run = desk.runs[desk.ticket / ntiles];
    if (MENDS && desk.run.again && !load_relaxed(&job.header->unmended)) {
        desk.nruns = 0;
        return;
    }
    desk.tile = tile_at<KEY>(job, desk.all.n, desk.run, number);
    desk.portion = portion;
    desk.portion_tile = portion_tile;
    desk.round = desk.run.live * desk.all.nportions + portion;
    desk.at = {desk.run.shift, desk.run.mask, job.states[desk.round % 2], portion_tile};
    desk.starts = {job.header->base, desk.run.pass, portion, desk.run.low, portion_tile == job.portion_tiles - 1};
}

/* All passes, `nruns`. naside: 0, or of the keys that were put aside. SORT: sorts the tile at hand, s_desk.tile. */
template <typename KEY, int VALUE_NBYTES, bool MENDS, typename SORT>
static __device__ __forceinline__ void do_passes(const struct sort_job &job, uint32_t nruns, uint32_t naside, struct pass_desk<KEY> &s_desk,
                                                 unsigned char *s_memory, struct digit_sums &s_sums, const SORT &sort) {
    constexpr bool OPENS = VALUE_NBYTES > 0 && !MENDS;
    if (nruns == 0) return;
    if (threadIdx.x == 0) s_desk.ticket = atomicAdd(&job.header->ticket[MENDS], 1); /* on its way while the plan is */
    const uint32_t *runs = (const uint32_t *)&job.header->run[MENDS ? job.header->nruns[0] : 0];
    for (uint32_t i = threadIdx.x; i < nruns * sizeof(struct pass_plan) / sizeof *runs; i += SORT_THREADS)
        ((uint32_t *)s_desk.runs)[i] = runs[i];
    if (threadIdx.x == 0) {
        s_desk.all = extent_of_passes(job, naside);
        s_desk.nruns = nruns;
        s_desk.finished = s_desk.waited_for = 0;
    }
    __syncthreads(); /* the plan */
    for (;;) {
        if (threadIdx.x == 0) take_tile<MENDS>(job, s_desk);
        __syncthreads(); /* the tile is known, and what was waited for can be seen by all */
        if (s_desk.ticket / s_desk.all.ntiles >= s_desk.nruns) return;
        if (s_desk.run.kind == PASS_SORTS) {
            clear_states(job.states[(s_desk.round + 1) % 2], min(job.state_rows, s_desk.all.ntiles), s_desk.portion_tile,
                         tiles_of_portion(job, s_desk.all.ntiles, s_desk.portion));
            sort();
        } else if (OPENS && s_desk.run.kind == PASS_OPENS) {
            if constexpr (OPENS) open_tile<KEY, VALUE_NBYTES>(job, s_desk.tile);
        } else if (OPENS && s_desk.run.kind == PASS_STRAYS) {
            if constexpr (OPENS) put_strays<KEY, VALUE_NBYTES>(job, s_desk.tile, s_desk.portion_tile, s_memory);
        } else if (MENDS && s_desk.run.kind == PASS_MENDS) {
            if constexpr (MENDS) {
                __shared__ struct long_runs s_long;
                mend_tile<KEY, VALUE_NBYTES>(job, s_desk.tile, s_desk.run.shift, s_memory, s_long);
                if (s_long.seen)
                    mend_long_runs<KEY, VALUE_NBYTES>(job, s_long, s_desk.tile.first, s_desk.run.shift, s_desk.at.states, s_memory, s_sums);
            }
        } else {
            copy_tile<KEY, VALUE_NBYTES>(job, s_desk.tile);
        }
        __syncthreads(); /* the tile is written; and nobody needs the shared memory any more */
        if (threadIdx.x > 0) continue;
        s_desk.finished++;
        s_desk.ticket = atomicAdd(&job.header->ticket[MENDS], 1);
    }
}

/* The output of keys alone that were counted by value, once those that are put aside are sorted. All threads call it. */
template <typename KEY>
static __device__ __forceinline__ void fill_behind_passes(const struct sort_job &job, uint32_t nruns, uint32_t nvalues, uint32_t naside,
                                                          unsigned char *s_memory) {
    static_assert(VALUES_MAX * sizeof(uint32_t) <= SORT_THREADS / SORT_TEAM * TEAM_WORDS * sizeof(uint32_t), "as a tile's counters");
    if (threadIdx.x == 0) {
        const uint32_t ntiles = nruns * extent_of_passes(job, naside).ntiles;
        while (load_relaxed(&job.header->tiles_done[0]) < ntiles) {
        }
        __threadfence(); /* having seen them done, see what they wrote */
    }
    __syncthreads(); /* all threads see it */
    fill_values_between<SORT_THREADS, KEY>(job, nvalues, naside, (uint32_t *)s_memory);
}

/* The tile at hand, of a pass that is done again: hardly ever, so the registers it takes must not be taken from mending. */
template <typename KEY, int VALUE_NBYTES>
static __device__ __noinline__ void sort_tile_again(const struct sort_job &job, const struct pass_desk<KEY> &s_desk,
                                                    unsigned char *s_memory, struct digit_sums &s_sums) {
    sort_one_tile<KEY, VALUE_NBYTES, sort_rows(sizeof(KEY), VALUE_NBYTES)>(job, s_desk.tile, s_desk.at, s_desk.starts, s_memory, s_sums,
                                                                           key_order<KEY>(job));
}

/* Dynamic shared memory: a tile; before it, if keys with something may be sorted by the ranks of their values, a table of these. */
template <typename KEY, int VALUE_NBYTES, bool MENDS>
__global__ void __launch_bounds__(SORT_THREADS, SORT_CTAS_PER_SM) sort_passes(const __grid_constant__ struct sort_job job) {
    constexpr int ROWS = sort_rows(sizeof(KEY), VALUE_NBYTES);
    extern __shared__ __align__(16) unsigned char s_memory[];
    __shared__ struct digit_sums s_sums;
    __shared__ struct pass_desk<KEY> s_desk;
    constexpr size_t OTHERS = MENDS ? sizeof(struct long_runs) : sizeof(struct bit_gaps);
    static_assert(sizeof s_sums + sizeof s_desk + OTHERS <= SHARED_STATIC_NBYTES, "room beside the tile");
    wait_for_predecessor();
    if (!is_for_passes(job)) return;                                /* else the header has been filled */
    const uint32_t nruns = load_relaxed(&job.header->nruns[MENDS]); /* all asked for together */
    const bool counts = sizeof(KEY) >= 4 && !MENDS && job.most_values;
    const uint32_t nvalues = counts ? load_relaxed(&job.header->values.nvalues) : 0;
    const uint32_t nput = counts && VALUE_NBYTES == 0 ? load_relaxed(&job.header->values.naside) : 0, naside = nvalues ? nput : 0;
    if (MENDS && nruns == 0) return;
    if constexpr (sizeof(KEY) >= 4 && !MENDS) {
        if (nvalues && naside == 0) {
            if constexpr (VALUE_NBYTES == 0) {
                fill_values<SORT_THREADS, KEY>(job, nvalues);
            } else {
                const struct value_order<KEY> order(job, s_memory);
                do_passes<KEY, VALUE_NBYTES, MENDS>(job, nruns, 0, s_desk, s_memory, s_sums, [&] {
                    sort_rows_of_tile<false, KEY, VALUE_NBYTES, ROWS>(job, s_desk.tile, s_desk.at, s_desk.starts,
                                                                      s_memory + ranked_values_nbytes(sizeof(KEY)), s_sums, order);
                });
            }
            return;
        }
    }
    if constexpr (VALUE_NBYTES == 0 && !MENDS) {
        __shared__ struct bit_gaps s_gaps;
        const bool closed = job.seen && job.header->gaps.ndigits;
        if (closed) {
            const uint32_t *words = (const uint32_t *)&job.header->gaps;
            for (uint32_t i = threadIdx.x; i < sizeof s_gaps / sizeof *words; i += SORT_THREADS) ((uint32_t *)&s_gaps)[i] = words[i];
            __syncthreads(); /* the plan */
        }
        do_passes<KEY, VALUE_NBYTES, MENDS>(job, nruns, naside, s_desk, s_memory, s_sums, [&] {
            const closed_order<KEY> order(key_order<KEY>(job), s_gaps, closed, s_desk.run.live);
            if constexpr (sizeof(KEY) >= 4) {
                const uint32_t pass = s_desk.run.pass;
                if (job.unordered && s_desk.run.live == 0)
                    return move_unordered_tile<ROWS>(job, s_desk.tile, {s_desk.run.shift, s_desk.run.mask}, job.header->base[0][pass],
                                                     s_desk.run.low, job.header->base[1][pass], s_memory, s_sums, order);
            }
            sort_one_tile<KEY, VALUE_NBYTES, ROWS>(job, s_desk.tile, s_desk.at, s_desk.starts, s_memory, s_sums, order);
        });
        if constexpr (sizeof(KEY) >= 4) {
            if (naside) fill_behind_passes<KEY>(job, nruns, nvalues, naside, s_memory);
        }
    } else {
        do_passes<KEY, VALUE_NBYTES, MENDS>(job, nruns, 0, s_desk, s_memory, s_sums, [&] {
            if constexpr (MENDS)
                sort_tile_again<KEY, VALUE_NBYTES>(job, s_desk, s_memory, s_sums);
            else
                sort_one_tile<KEY, VALUE_NBYTES, ROWS>(job, s_desk.tile, s_desk.at, s_desk.starts, s_memory, s_sums, key_order<KEY>(job));
        });
    }
}

#endif
