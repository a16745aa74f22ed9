/* sort.cu: stable radix sort of keys, of pairs, and of indices: onesweep. Read in this order:
 *
 *     sort_job.cuh        what a sort is: buffers, plan, and how a key becomes a digit
 *     sort_histogram.cuh  1. all histograms in one read of the keys; which digits can be skipped
 *     sort_rank.cuh       2. for each digit: where in its tile does a key go,
 *     sort_lookback.cuh      how many keys went before the tile,
 *     sort_pass.cuh          and the move itself
 *     sort_small.cuh      all of it in one CTA, for few keys
 *     sort_gather.cuh     big values, fetched once at the end
 *     sort_split.cuh      the other way, for keys alone: buckets first (sort_partition.cuh), then each by itself (sort_bucket.cuh)
 *
 * A least significant digit first radix sort: each pass orders the keys by eight more bits and keeps the order of equal digits. What is
 * decided on the host depends on sizes and alignment only; what depends on the keys is decided by the first kernel. Nothing waits for the
 * device.
 *
 * Values of up to 16 bytes move with their keys; for larger ones the pass moves 4- or 8-byte indices and one gather follows.
 * Cost: keys read once, then keys and values read and written once a live digit.
 * Source: Adinets and Merrill, Onesweep: a faster least significant digit radix sort for GPUs, 2022. */
#include <cuda_runtime.h>
#include <stddef.h>

#include "sort_gather.cuh"
#include "sort_histogram.cuh"
#include "sort_pass.cuh"
#include "sort_small.cuh"
#include "sort_split_launch.cuh"

#define MOVED_VALUE_MAX 16 /* bytes; larger values are gathered */

/* ---- shape of a pass --------------------------------------------------------------------------------------------------------- */

/* The word that stands for a value in a pass: 0, 4 or 8 bytes. Values moved by place need 4. */
static uint32_t word_nbytes(uint64_t n, size_t value_nbytes) {
    if (value_nbytes == 0) return 0;
    if (value_nbytes > MOVED_VALUE_MAX) return n > UINT32_MAX ? 8 : 4;
    return value_nbytes == 8 ? 8 : 4;
}

static uint32_t max_rows(const struct cuda_queue *queue, size_t key_nbytes, uint32_t word) {
    const uint32_t by_registers = (uint32_t)sort_rows((int)key_nbytes, (int)word);
    const uint32_t shared = shared_nbytes_per_cta(queue->arch, sort_ctas_per_sm((int)key_nbytes, (int)word));
    return (uint32_t)min_u64(by_registers, shared / (SORT_THREADS * (key_nbytes + word)));
}

/* Few keys: tiles shrink, so that there are enough of them for all multiprocessors. */
static uint32_t rows_for(const struct cuda_queue *queue, uint64_t n, uint32_t rows_limit) {
    const uint64_t rows = n / ((uint64_t)SORT_THREADS * (uint32_t)queue->nsms * SORT_TILES_PER_SM);
    return rows < SORT_MIN_ROWS ? SORT_MIN_ROWS : rows > rows_limit ? rows_limit : (uint32_t)rows;
}

/* ---- scratch ----------------------------------------------------------------------------------------------------------------- */

/* The parts, in this order; sizes in bytes. */
struct sort_scratch {
    uint64_t state_rows; /* of each of the two arrays of tile states */
    uint64_t header, split, states[2], keys[2], values, indices;
    uint64_t total; /* UINT64_MAX if it does not fit */
};

/* Takes count * nbytes, rounded up to 256; returns where. */
static uint64_t take(uint64_t *total, uint64_t count, uint64_t nbytes) {
    const uint64_t at = *total;
    uint64_t size;
    if (__builtin_mul_overflow(count, nbytes, &size) || size > UINT64_MAX - 255 ||
        __builtin_add_overflow(at, (size + 255) & ~UINT64_C(255), total)) {
        *total = UINT64_MAX;
    }
    return at;
}

/* The same for every alignment and aliasing of the arrays, and never less for more keys. */
static struct sort_scratch layout_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes,
                                          bool argsort) {
    struct sort_scratch s = {};
    const uint64_t full_tile = (uint64_t)SORT_THREADS * max_rows(queue, key_nbytes, word_nbytes(n, value_nbytes));
    const uint64_t few_tiles = 2 * (uint64_t)queue->nsms * SORT_TILES_PER_SM; /* rows_for() rounds down: by less than half */
    const uint64_t tiles = n / full_tile > few_tiles ? n / full_tile : min_u64(n / (SORT_THREADS * SORT_MIN_ROWS), few_tiles);
    s.state_rows = min_u64(tiles, SORT_PORTION_ITEMS / full_tile) + 1;

    const unsigned key_buffers = !argsort || key_nbytes == 2 ? 1 : key_nbytes == 1 ? 0 : 2;
    const bool gathered = !argsort && value_nbytes > MOVED_VALUE_MAX;
    s.header = take(&s.total, 1, sizeof(struct sort_header));
    s.split = take(&s.total, value_nbytes == 0, sizeof(struct split_header)); /* next to it: one call clears both */
    for (int i = 0; i < 2; i++) s.states[i] = take(&s.total, s.state_rows, SORT_DIGITS * sizeof(uint32_t));
    for (unsigned i = 0; i < 2; i++) s.keys[i] = take(&s.total, i < key_buffers ? n : 0, key_nbytes);
    s.values = take(&s.total, n, value_nbytes);
    s.indices = take(&s.total, gathered ? n : 0, word_nbytes(n, value_nbytes));
    return s;
}

uint64_t cuda_sort_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    return layout_scratch(queue, n, key_nbytes, value_nbytes, argsort).total;
}

/* ---- the job ----------------------------------------------------------------------------------------------------------------- */

static uint64_t sign_bit(size_t key_nbytes) { return UINT64_C(1) << (key_nbytes * 8 - 1); }

static void set_order(struct sort_job *job, const struct sort_args *args, size_t key_nbytes) {
    const bool is_float = args->type == UPSWEEP_F32 || args->type == UPSWEEP_F64;
    const bool is_signed = args->type == UPSWEEP_I8 || args->type == UPSWEEP_I16 || args->type == UPSWEEP_I32 || args->type == UPSWEEP_I64;
    job->flip = is_float || is_signed ? sign_bit(key_nbytes) : 0;
    job->float_mask = is_float ? sign_bit(key_nbytes) - 1 : 0;
    if (args->descending) job->flip = ~job->flip;
}

/* Cuts the bits into digits of equal width, give or take one; in place adds passes over no bits until their number is even and not 0. */
static void set_passes(struct sort_job *job, uint32_t lo_bit, uint32_t hi_bit) {
    const uint32_t nbits = hi_bit - lo_bit, ndigits = (nbits + SORT_DIGIT_BITS - 1) / SORT_DIGIT_BITS;
    for (uint32_t pass = 0; pass < ndigits; pass++) {
        const uint32_t lo = nbits * pass / ndigits, hi = nbits * (pass + 1) / ndigits;
        job->shift[pass] = lo_bit + lo;
        job->mask[pass] = (1u << (hi - lo)) - 1;
    }
    job->npasses = job->in_place ? ndigits + ndigits % 2 : ndigits;
    if (job->npasses == 0) job->npasses = job->in_place ? 2 : 1;
}

/* The widest power of two, at most 16, that divides all of them. */
static uint32_t common_unit(const void *a, const void *b, size_t nbytes) {
    const uint64_t bits = (uintptr_t)a | (uintptr_t)b | nbytes | 16;
    return (uint32_t)(bits & (0 - bits));
}

/* Are the values too big to move with their keys? */
static bool is_gathered(const struct sort_args *args) { return args->values_in && args->value_nbytes > MOVED_VALUE_MAX; }

static void set_buffers(struct sort_job *job, const struct sort_args *args, size_t key_nbytes) {
    const bool argsort = !args->keys_out;
    job->keys_in = args->keys_in;
    job->keys_out = args->keys_out;
    job->values_in = args->values_in;
    job->values_out = args->values_out;
    job->n = args->n;
    job->has_values = args->values_out;
    job->drop_keys = argsort;
    job->value_nbytes = (uint32_t)args->value_nbytes;
    job->value_unit = common_unit(args->values_in, args->values_out, args->value_nbytes);
    job->by_place = args->values_in && !((args->value_nbytes == 4 || args->value_nbytes == 8) && job->value_unit == args->value_nbytes);
    const bool keys_in_place = args->keys_in == args->keys_out, values_in_place = args->values_in && args->values_in == args->values_out;
    job->in_place = keys_in_place || (values_in_place && !is_gathered(args));
    job->all_in_place = keys_in_place && (!args->values_out || (values_in_place && !is_gathered(args)));
    set_order(job, args, key_nbytes);
    set_passes(job, args->lo_bit, args->hi_bit);
}

/* Cuts the scratch up; the passes sort indices in the place of values that are gathered. */
static void set_scratch(struct sort_job *job, const struct sort_args *args, const struct sort_scratch *layout, void *scratch) {
    char *base = (char *)scratch;
    job->header = (struct sort_header *)(base + layout->header);
    for (int i = 0; i < 2; i++) job->states[i] = (uint32_t *)(base + layout->states[i]);
    job->keys_tmp = base + layout->keys[0];
    if (job->drop_keys) job->keys_out = base + layout->keys[1];
    job->values_tmp = base + layout->values;
    if (!is_gathered(args)) return;
    job->values_in = NULL;
    job->values_out = base + layout->indices;
    job->value_nbytes = word_nbytes(args->n, args->value_nbytes);
    job->by_place = false;
}

static void set_tiles(struct sort_job *job, const struct cuda_queue *queue, size_t key_nbytes, uint32_t word) {
    job->rows = rows_for(queue, job->n, max_rows(queue, key_nbytes, word));
    const uint64_t tile_items = (uint64_t)SORT_THREADS * job->rows;
    job->ntiles = (uint32_t)((job->n + tile_items - 1) / tile_items);
    job->portion_tiles = (uint32_t)min_u64(job->ntiles, SORT_PORTION_ITEMS / tile_items);
    job->nportions = (job->ntiles + job->portion_tiles - 1) / job->portion_tiles;
    job->state_rows = job->portion_tiles;
}

/* ---- launches: one sort of keys of one width --------------------------------------------------------------------------------- */

template <typename KEY> static cudaError_t launch_small(const struct sort_job *job, const struct cuda_queue *queue) {
    return launch_next(queue, sort_small<KEY>, 1, SORT_SMALL_THREADS, small_shape<KEY>::SHARED_NBYTES, *job);
}

template <typename KEY> static cudaError_t launch_histogram(const struct sort_job *job, const struct cuda_queue *queue) {
    if (!job->only_if) { /* else try_split() has done it */
        const cudaError_t error = cudaMemsetAsync(job->header, 0, sizeof *job->header, (cudaStream_t)queue->stream);
        if (error != cudaSuccess) return error;
    }
    struct sort_job counted = *job;
    const uint32_t counters = SORT_DIGITS * (uint32_t)min_u64(job->npasses, sizeof(KEY));
    counted.histogram_copies = counter_copies(queue, job->n, counters);
    const uint64_t per_cta = SORT_HISTOGRAM_THREADS * (16 / sizeof(KEY));
    const uint32_t nctas = (uint32_t)min_u64((job->n + per_cta - 1) / per_cta, (uint64_t)queue->nsms);
    return launch_next(queue, sort_histogram<KEY>, nctas, SORT_HISTOGRAM_THREADS, counters * counted.histogram_copies * 4, counted);
}

/* All passes, and the portions of each. */
template <typename KEY, int WORD> static cudaError_t launch_passes(const struct sort_job *job, const struct cuda_queue *queue) {
    const uint32_t counters = SORT_THREADS / 32 * SORT_DIGITS * sizeof(struct digit_counter);
    const uint32_t tile = SORT_THREADS * job->rows * (uint32_t)(sizeof(KEY) + WORD);
    const uint32_t shared = tile > counters ? tile : counters;
    const uint32_t resident = (uint32_t)(queue->nsms * sort_ctas_per_sm(sizeof(KEY), WORD));
    cudaError_t error = cudaSuccess;
    for (uint32_t pass = 0; pass < job->npasses; pass++) {
        for (uint32_t portion = 0; portion < job->nportions && error == cudaSuccess; portion++) {
            const uint32_t ntiles = tiles_of_portion(*job, portion);
            const uint32_t nctas = takes_many_tiles(*job, WORD) && ntiles > resident ? resident : ntiles;
            error = launch_next(queue, sort_pass<KEY, WORD>, nctas, SORT_THREADS, shared, *job, pass, portion);
        }
    }
    return error;
}

template <typename KEY> static cudaError_t launch_onesweep(const struct sort_job *job, const struct cuda_queue *queue, uint32_t word) {
    const cudaError_t error = launch_histogram<KEY>(job, queue);
    if (error != cudaSuccess) return error;
    if (word == 0) return launch_passes<KEY, 0>(job, queue);
    return word == 4 ? launch_passes<KEY, 4>(job, queue) : launch_passes<KEY, 8>(job, queue);
}

/* Can one CTA do it all? Values that are sorted in place must fit in its shared memory; big ones are better gathered by the whole GPU. */
template <typename KEY> static bool is_small(const struct sort_job *job) {
    if (job->n > small_shape<KEY>::ITEMS) return false;
    if (!job->values_in || job->n * job->value_nbytes <= small_shape<KEY>::AREA_NBYTES) return true;
    return job->value_nbytes <= MOVED_VALUE_MAX && job->values_in != job->values_out;
}

/* ---- launches: gathering values ---------------------------------------------------------------------------------------------- */

template <typename UNIT, typename INDEX>
static cudaError_t launch_gather_as(void *out, const void *in, const void *indices, uint64_t n, uint32_t nbytes,
                                    const struct cuda_queue *queue) {
    const uint32_t units = nbytes / (uint32_t)sizeof(UNIT);
    uint32_t lanes = 1;
    while (lanes < 32 && lanes < units) lanes *= 2;
    const uint64_t nctas = (n + SORT_GATHER_THREADS / lanes - 1) / (SORT_GATHER_THREADS / lanes);
    const uint32_t grid = (uint32_t)min_u64(nctas, (uint64_t)queue->nsms * 64);
    return launch_next(queue, sort_gather<UNIT, INDEX>, grid, SORT_GATHER_THREADS, 0, out, in, indices, n, units, lanes);
}

template <typename INDEX>
static cudaError_t launch_gather_by(void *out, const void *in, const void *indices, uint64_t n, uint32_t nbytes,
                                    const struct cuda_queue *queue) {
    switch (common_unit(out, in, nbytes)) {
    case 16:
        return launch_gather_as<uint4, INDEX>(out, in, indices, n, nbytes, queue);
    case 8:
        return launch_gather_as<uint64_t, INDEX>(out, in, indices, n, nbytes, queue);
    case 4:
        return launch_gather_as<uint32_t, INDEX>(out, in, indices, n, nbytes, queue);
    case 2:
        return launch_gather_as<uint16_t, INDEX>(out, in, indices, n, nbytes, queue);
    default:
        return launch_gather_as<uint8_t, INDEX>(out, in, indices, n, nbytes, queue);
    }
}

/* In place, the values are first copied to where the indices' second buffer was (job->values_tmp), which the passes need no more. */
static cudaError_t launch_gather(const struct sort_job *job, const struct sort_args *args, const void *indices,
                                 const struct cuda_queue *queue) {
    const void *src = args->values_in;
    const uint32_t nbytes = (uint32_t)args->value_nbytes;
    if (src == args->values_out) {
        const cudaError_t error =
            cudaMemcpyAsync(job->values_tmp, src, args->n * nbytes, cudaMemcpyDeviceToDevice, (cudaStream_t)queue->stream);
        if (error != cudaSuccess) return error;
        src = job->values_tmp;
    }
    if (job->value_nbytes == 4) return launch_gather_by<uint32_t>(args->values_out, src, indices, args->n, nbytes, queue);
    return launch_gather_by<uint64_t>(args->values_out, src, indices, args->n, nbytes, queue);
}

/* ---- launches: keys alone ---------------------------------------------------------------------------------------------------- */

/* Queues the split, if there is one for this sort; the stable passes that follow then run only if it has given up. */
template <typename KEY>
static cudaError_t try_split(struct sort_job *job, const struct cuda_queue *queue, const struct sort_args *args, void *split_header) {
    constexpr bool MOVES = sizeof(KEY) >= 4;
    struct split_job split = {};
    if constexpr (MOVES) {
        if (!choose_split<KEY>(&split, queue, args)) return cudaSuccess;
        const uint64_t ctas = (uint64_t)queue->nsms * SPLIT_CTAS_PER_SM,
                       rows = (job->n + ctas * SPLIT_THREADS - 1) / (ctas * SPLIT_THREADS);
        split.tile_items = (uint32_t)min_u64(rows * SPLIT_THREADS, partition_shape<KEY>::ITEMS);
    } else {
        if (!choose_counting<KEY>(&split, queue, args)) return cudaSuccess;
    }
    split.in = job->keys_in;
    split.out = job->keys_out;
    split.tmp = job->keys_tmp;
    split.n = (uint32_t)job->n;
    split.flip = job->flip;
    split.float_mask = job->float_mask;
    split.header = (struct split_header *)split_header;
    job->only_if = &split.header->too_big;

    const size_t histogram = sizeof(uint32_t) << (split.coarse_bits + split.fine_bits);
    const size_t cleared = (size_t)((char *)split.header->cursor - (char *)job->header) + histogram;
    const cudaError_t error = cudaMemsetAsync(job->header, 0, cleared, (cudaStream_t)queue->stream);
    if (error != cudaSuccess) return error;
    if constexpr (MOVES)
        return launch_split<KEY>(&split, queue);
    else
        return launch_counting<KEY>(&split, queue);
}

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

template <typename KEY> static cudaError_t sort_keys(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    struct sort_job job = {};
    set_buffers(&job, args, sizeof(KEY));
    if (is_small<KEY>(&job)) {
        job.rows = (uint32_t)((args->n + SORT_SMALL_THREADS - 1) / SORT_SMALL_THREADS);
        return launch_small<KEY>(&job, queue);
    }
    const struct sort_scratch layout = layout_scratch(queue, args->n, sizeof(KEY), args->value_nbytes, job.drop_keys);
    void *indices = (char *)scratch + layout.indices;
    set_scratch(&job, args, &layout, scratch);
    const uint32_t word = !job.has_values ? 0 : !job.by_place && job.value_nbytes == 8 ? 8 : 4;
    set_tiles(&job, queue, sizeof(KEY), word);

    cudaError_t error = try_split<KEY>(&job, queue, args, (char *)scratch + layout.split);
    if (error == cudaSuccess) error = launch_onesweep<KEY>(&job, queue, word);
    if (error != cudaSuccess || !is_gathered(args)) return error;
    return launch_gather(&job, args, indices, queue);
}

int cuda_launch_sort(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    switch (upsweep_type_nbytes(args->type)) {
    case 1:
        return sort_keys<uint8_t>(queue, args, scratch);
    case 2:
        return sort_keys<uint16_t>(queue, args, scratch);
    case 4:
        return sort_keys<uint32_t>(queue, args, scratch);
    default:
        return sort_keys<uint64_t>(queue, args, scratch);
    }
}
