/* sort_fused_drawn.cuh: keys that all CTAs of a launch draw and sort together, and the splitters that these make
 * (sort_fused_splitters.cuh).
 *
 *     each CTA       draws a few keys, of 8,192 in all; all wait
 *                    finds the places of its few among all that are drawn, as sort_ranks.cuh does: so they are sorted; all wait
 *                    makes a search tree of 4,095 splitters of them
 *
 * Splitters are not drawn keys, but halfway between two: if keys lie in clusters, they are in the gaps, and buckets end where clusters do.
 * Cost: 6 us, of which the waits are most, and 3 for the tree. Source: as sort_sample.cuh. */
#ifndef UPSWEEP_CUDA_SORT_FUSED_DRAWN_CUH
#define UPSWEEP_CUDA_SORT_FUSED_DRAWN_CUH

#include "sort_sample_plan.cuh"
#include "sort_totals.cuh"

#define SPLITTER_DRAWN    (2 * SPLITTER_CELLS)
#define SPLITTER_OWN      128                              /* keys that a CTA draws, at most */
#define SPLITTER_STRETCH  32                               /* cells that one thread puts together */
#define SPLITTER_AROUND   4                                /* distances between drawn keys on either side of a splitter's, */
#define SPLITTER_JUMP     4                                /* to which together that is so much greater where the density jumps, */
#define SPLITTER_JUMP_FAR 32                               /* beside a value that repeats: of few, distances vary more by chance; */
#define SPLITTER_JUMP_MIN 4096                             /* and where it is so large, as there are bins of a bucket */
#define SPLITTER_EACH     (SPLITTER_CELLS / FUSED_THREADS) /* cells of a thread */

/* Shared memory, behind the tile. */
template <typename KEY> struct splitter_desk {
    KEY node[SPLITTER_CELLS];
    union {
        struct {
            KEY own[SPLITTER_OWN], sorted[SPLITTER_OWN];
            uint32_t before[SPLITTER_OWN];
        } drawn;
        uint32_t total[SPLITTER_CELLS + SPLITTER_CELLS / SPLITTER_STRETCH]; /* that of cell c behind c / STRETCH others, for the banks */
        struct {
            uint32_t base[SPLITTER_BUCKETS];                      /* of a run: where its keys go, less their place in the tile */
            uint32_t heads[FUSED_THREADS], before[FUSED_THREADS]; /* a bit where a run begins; how many are in the words before */
        } runs;
    };
    uint32_t jumps[SPLITTER_CELLS / 32];  /* a bit for each cell with which a bucket must begin, */
    uint32_t heads[SPLITTER_CELLS / 32];  /* a bit for each cell with which a bucket begins */
    uint32_t start[SPLITTER_BUCKETS + 1]; /* of a bucket, in the output; */
    uint16_t begin[SPLITTER_BUCKETS + 1], cell[SPLITTER_BUCKETS + 1], done[SPLITTER_BUCKETS]; /* in the tile; its first cell */
    uint32_t sums[2][32], turn, nbuckets, nmoved, ndone;

    __device__ __forceinline__ uint32_t &total_of(uint32_t i) { return total[i + i / SPLITTER_STRETCH]; }
    __device__ __forceinline__ KEY low_of(uint32_t i) const { return i == 0 ? (KEY)0 : node[node_of(i, SPLITTER_LEVELS)]; }
    __device__ __forceinline__ KEY width_of(uint32_t i) const {
        return i == SPLITTER_CELLS - 1 ? (KEY)((KEY)0 - low_of(i)) : (KEY)(low_of(i + 1) - low_of(i));
    }
};

/* All CTAs wait for one another; what they have written before can be seen behind. All threads call it. */
static __device__ __forceinline__ void meet(uint32_t *narrived) {
    __syncthreads(); /* all has been written */
    if (threadIdx.x == 0) {
        __threadfence(); /* what this CTA has written, before it is counted */
        atomicAdd(narrived, 1);
        while (load_acquire(narrived) != gridDim.x) {
        }
    }
    __syncthreads(); /* all are there */
}

/* Draws keys and sorts them, each CTA a few: to the buffer in which buckets will be. Returns where they are. */
template <typename KEY>
static __device__ __forceinline__ const KEY *sort_drawn(const struct split_job &split, splitter_totals *totals,
                                                        struct splitter_desk<KEY> &s) {
    constexpr uint32_t EACH = SPLITTER_DRAWN / FUSED_THREADS;
    const uint32_t t = threadIdx.x, most = (SPLITTER_DRAWN + gridDim.x - 1) / gridDim.x, begin = min(blockIdx.x * most, SPLITTER_DRAWN);
    const uint32_t nown = min(most, SPLITTER_DRAWN - begin);
    KEY *drawn = (KEY *)split.tmp, *sorted = drawn + SPLITTER_DRAWN;
    if (t < SPLITTER_OWN) {
        s.drawn.sorted[t] = (KEY) ~(KEY)0;
        s.drawn.before[t] = 0;
    }
    if (t < nown) s.drawn.own[t] = drawn[begin + t] = drawn_image<KEY>(split, begin + t, SPLITTER_LEVELS + 1);
    __syncthreads(); /* all own keys */
    if (t < nown) {
        const KEY mine = s.drawn.own[t];
        uint32_t place = 0;
#pragma unroll 8
        for (uint32_t i = 0; i < nown; i++) place += s.drawn.own[i] < mine || (s.drawn.own[i] == mine && i < t);
        s.drawn.sorted[place] = mine;
    }
    meet(totals->of(s.turn, SPLITTER_MEET)); /* also: they are sorted */
    KEY images[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) images[k] = __ldcg(drawn + k * FUSED_THREADS + t);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t i = k * FUSED_THREADS + t;
        const bool later = i >= begin;
        if (i - begin < nown || (later && images[k] == (KEY) ~(KEY)0)) continue; /* own ones; or it is before none */
        const KEY image = (KEY)(images[k] + later);                              /* behind equal ones */
        const uint32_t place = count_less<SPLITTER_OWN>([&](uint32_t at) { return s.drawn.sorted[at]; }, image);
        if (place < nown) atomicAdd(&s.drawn.before[place], 1);
    }
    __syncthreads(); /* all others are counted */
    const uint32_t before = t < nown ? s.drawn.before[t] : 0, place = scan_threads(before, s.sums[0]) + before + t;
    if (t < nown) sorted[place] = s.drawn.sorted[t];
    meet(totals->of(s.turn, SPLITTER_MEET + 8));
    return sorted;
}

/* The tree, of the sorted keys. Splitter j is one above or below key 2 j, in the middle of the greater distance: so if there is a gap
 * between keys it is there, not where they begin again. But of equal keys the first splitter is that value, if they are not behind a gap,
 * and the last one the next greater: so that a value which is drawn often has a cell to itself. Marks cells with which a bucket must begin,
 * since keys lie much closer together on one side: if they do not begin there at once, but where they are seldom, the cell between is a
 * bucket by itself. So is the cell with the first keys behind a gap, or the last ones before it, if a value that repeats is on the other
 * side; and so are the first cell and the last one, of one or two drawn keys: how far beyond these there are others is not known.
 * s_sorted [DRAWN], where the tile will be. All threads call it; a barrier must follow. */
template <typename KEY>
static __device__ __forceinline__ void make_splitters(KEY *s_sorted, const KEY *sorted, struct splitter_desk<KEY> &s) {
    const uint32_t t = threadIdx.x;
#pragma unroll
    for (uint32_t i = t; i < SPLITTER_DRAWN; i += FUSED_THREADS) s_sorted[i] = __ldcg(sorted + i);
    if (t < SPLITTER_CELLS / 32) s.jumps[t] = t == 0 ? 1u << 1 : t == SPLITTER_CELLS / 32 - 1 ? 1u << 31 : 0;
    __syncthreads(); /* all drawn keys; the outermost bits before others */
#pragma unroll
    for (uint32_t k = 0; k < SPLITTER_EACH; k++) {
        const uint32_t j = k * FUSED_THREADS + t;
        if (j == 0) continue;
        const uint32_t last = SPLITTER_DRAWN - 1, i = j == 1 ? 1 : 2 * j;
        const KEY below = s_sorted[i - 1], mine = s_sorted[i], above = s_sorted[i + 1];
        const bool ends = j == SPLITTER_CELLS - 1 || mine != s_sorted[i + 2]; /* of equal keys, the last one */
        const bool repeats = j > 1 && ends && mine == s_sorted[i - 2];        /* they end here; if not `ends`, they may begin here */
        const bool upper = above - mine > mine - below;
        const KEY from = upper ? mine : below, distance = (KEY)((upper ? above : mine) - from);
        const KEY limit = ends && !repeats ? distance / SPLITTER_JUMP : distance / SPLITTER_JUMP_FAR;
        const KEY left = (KEY)(below - s_sorted[i - 1 - min(i - 1, (uint32_t)SPLITTER_AROUND)]);
        const KEY right = (KEY)(s_sorted[min(i + 1 + SPLITTER_AROUND, last)] - above);
        const bool from_left = left && left < limit, from_right = right && right < limit;
        const bool jumps = distance >= SPLITTER_JUMP_MIN && (from_left || from_right);
        KEY splitter = mine;
        if (repeats)
            splitter = (KEY)(mine + (mine != (KEY) ~(KEY)0));
        else if (ends || jumps)
            splitter = (KEY)(from + distance / 2 + distance % 2);
        if (jumps) {
            atomicOr(&s.jumps[j / 32], 1u << j % 32);
            if ((!from_left || repeats) && j + 1 < SPLITTER_CELLS) atomicOr(&s.jumps[(j + 1) / 32], 1u << (j + 1) % 32);
            if (!from_right || !ends) atomicOr(&s.jumps[(j - 1) / 32], 1u << (j - 1) % 32);
        }
        s.node[node_of(j, SPLITTER_LEVELS)] = splitter;
    }
}

#endif
