/* sort_scratch.cuh: how large the tiles of the stable sorts are, and how the scratch of a sort is cut up. Host code. */
#ifndef UPSWEEP_CUDA_SORT_SCRATCH_CUH
#define UPSWEEP_CUDA_SORT_SCRATCH_CUH

#include "sort_split.cuh"

#define MOVED_VALUE_MAX 8 /* bytes; larger values are gathered: one random read is quicker than moving them three times or more */

/* ---- shape of a pass --------------------------------------------------------------------------------------------------------- */

/* The word that stands for a value in a pass: 0, 4 or 8 bytes. Values moved by place need 4. */
static uint32_t word_nbytes(uint64_t n, size_t value_nbytes) {
    if (value_nbytes == 0) return 0;
    if (value_nbytes > MOVED_VALUE_MAX) return n > UINT32_MAX ? 8 : 4;
    return value_nbytes == 8 ? 8 : 4;
}

static uint32_t max_rows(const struct cuda_queue *queue, size_t key_nbytes, uint32_t word) {
    const uint32_t by_registers = (uint32_t)sort_rows((int)key_nbytes, (int)word);
    const uint32_t shared = shared_nbytes_per_cta(queue->arch, SORT_CTAS_PER_SM);
    return (uint32_t)min_u64(by_registers, shared / (SORT_THREADS * (key_nbytes + word)));
}

/* As many rows as let all tiles run at once, since some tiles in a second round would take as long as the first; of many keys, as many as
 * may be. */
static uint32_t rows_at_once(const struct cuda_queue *queue, uint64_t n, uint32_t nthreads, uint32_t ctas_per_sm, uint32_t rows_limit) {
    const uint64_t row = (uint64_t)queue->nsms * ctas_per_sm * nthreads; /* keys in a row of all tiles that run at once */
    return (uint32_t)min_u64((n + row - 1) / row, rows_limit);
}

static uint32_t rows_for(const struct cuda_queue *queue, uint64_t n, uint32_t rows_limit) {
    return max_u32(rows_at_once(queue, n, SORT_THREADS, SORT_CTAS_PER_SM, rows_limit), SORT_MIN_ROWS);
}

/* Rounds of tiles as large as can be, if each round are as many as run at once. */
static uint64_t rounds_of_tiles(const struct cuda_queue *queue, uint64_t n, uint32_t rows_limit) {
    const uint64_t round = (uint64_t)queue->nsms * SORT_CTAS_PER_SM * SORT_THREADS * rows_limit;
    return (n + round - 1) / round;
}

/* Rows of the tiles of stable partitions: of two full rounds, if that takes no more than a quarter off the tiles, or leaves them at least
 * those smaller ones that have code of their own; seven eighths of the rows that these have are as many, and of the smallest three
 * quarters. A pass waits for the one before it, so that few have anything to do while some are in a last round; but smaller tiles make
 * shorter runs. */
static uint32_t rows_of_tiles(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, uint32_t word) {
    const uint32_t most = max_rows(queue, key_nbytes, word);
    const uint32_t fewer = (uint32_t)sort_fewer_rows((int)key_nbytes, (int)word),
                   fewest = (uint32_t)sort_fewest_rows((int)key_nbytes, (int)word);
    const uint64_t rounds = rounds_of_tiles(queue, n, most);
    uint32_t rows = rows_for(queue, (n + rounds - 1) / rounds, most);
    if (fewest <= most && rows < fewest && 4 * rows >= 3 * fewest) rows = fewest;
    if (fewer <= most && rows < fewer && 8 * rows >= 7 * fewer) rows = fewer;
    const uint32_t least = fewest ? fewest : fewer;
    const bool full = rounds == 1 || (rounds == SORT_FULL_ROUNDS && (4 * rows >= 3 * most || (least > 0 && rows >= least)));
    return full ? rows : most;
}

/* Counters of all passes' digits, without copies. */
template <typename KEY> static uint32_t counters_of(const struct sort_job *job) {
    return SORT_DIGITS * (uint32_t)min_u64(job->npasses, sizeof(KEY));
}

/* Dynamic shared memory for a tile: first the counters are there, then the keys and words. */
template <typename KEY, int WORD> static uint32_t tile_nbytes(const struct sort_job *job) {
    const uint32_t counters = SORT_THREADS / SORT_TEAM * TEAM_WORDS * sizeof(uint32_t);
    const uint32_t tile = SORT_THREADS * job->rows * (uint32_t)(sizeof(KEY) + WORD);
    return tile > counters ? tile : counters;
}

/* Is something overwritten that is yet to be read? */
static bool is_in_place(const struct sort_args *args, bool gathered) {
    return args->keys_in == args->keys_out || (args->values_in && args->values_in == args->values_out && !gathered);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------------------- */

/* The parts, in this order; sizes in bytes. */
struct sort_scratch {
    uint64_t state_rows;                                                 /* of each of the two arrays of tile states */
    uint64_t header, split, cursor, value_size, start, bound, cell_slot; /* struct split_job says what for */
    uint64_t states[2], keys[2], values, indices;
    uint64_t slots; /* where the states and the keys are, since no sort needs both */
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

/* Numbers of buckets, at most. With fewer keys than that in each, on average, half as many numbers do. */
static uint64_t most_numbers(uint64_t n, bool alone) {
    uint64_t numbers = SPLIT_NUMBERS_MIN;
    while (numbers < 1 << SPLIT_MAX_BITS && numbers * (alone ? SPLIT_MEAN_MIN : STABLE_MEAN_MIN) < n) numbers *= 2;
    return numbers;
}

/* Tiles of pairs in slots, and room for ties of each. */
static uint64_t tiles_of_pairs(uint64_t n) { return (n + PAIR_SLOTS_TILE - 1) / PAIR_SLOTS_TILE; }
static uint64_t ties_of_tile(uint64_t n) { return min_u64(PAIR_SLOTS_TIES / tiles_of_pairs(n), PAIR_SLOTS_TILE_TIES); }

/* What comes first: the headers, next to one another and to the cursors, as one call clears all, and what has a word for each number; or
 * ties, which pairs in slots have in place of most of that. */
static struct sort_scratch layout_headers(uint64_t n, size_t key_nbytes, bool alone, bool pairs_in_slots) {
    struct sort_scratch s = {};
    s.header = take(&s.total, 1, sizeof(struct sort_header));
    if (key_nbytes < 4) return s;
    const uint64_t numbers = most_numbers(n, alone), word = sizeof(uint32_t);
    s.split = take(&s.total, 1, sizeof(struct split_header));
    s.cursor = take(&s.total, 2 * numbers, word);
    s.value_size = take(&s.total, numbers + VALUE_SLOTS_SPARE, word);
    uint64_t ties_total = s.value_size;
    s.start = take(&s.total, numbers + 1, word);
    s.bound = take(&s.total, numbers + 1, word);
    s.cell_slot = take(&s.total, numbers + 1, word);
    if (pairs_in_slots) take(&ties_total, tiles_of_pairs(n), ties_of_tile(n) * word);
    s.total = max_u64(s.total, ties_total);
    return s;
}

static void place_headers(struct split_job *split, const struct sort_scratch *layout, char *scratch) {
    split->header = (struct split_header *)(scratch + layout->split);
    split->cursor = (uint32_t *)(scratch + layout->cursor);
    split->ties = (uint32_t *)(scratch + layout->value_size);
    split->start = (uint32_t *)(scratch + layout->start);
    split->bound = (uint32_t *)(scratch + layout->bound);
    split->cell_slot = (uint32_t *)(scratch + layout->cell_slot);
}

/* Items that slots have room for, all together: with the headers, the scratch is larger by a tenth at most than pairs, and than keys alone
 * by 3 in 20. */
static uint64_t room_of_slots(uint64_t n, size_t item_nbytes, bool pairs) {
    const uint64_t headers = layout_headers(n, item_nbytes, !pairs, pairs).total, more = pairs ? n / 10 : n / 20 * 3;
    return n + more - (headers + 255) / item_nbytes;
}

/* Does onesweep look at one array of states only? Keys of one byte have one digit. States take much beside them: so if there is more than
 * one portion, it is half as large. */
static bool is_one_round(uint64_t n, size_t key_nbytes) { return key_nbytes == 1 && n <= SORT_PORTION_ITEMS; }
static uint64_t portion_items(uint64_t n, size_t key_nbytes) {
    return key_nbytes == 1 && n > SORT_PORTION_ITEMS ? SORT_PORTION_ITEMS / 2 : SORT_PORTION_ITEMS;
}

/* The same for every alignment and aliasing of the arrays, and never less for more keys. */
static struct sort_scratch layout_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes,
                                          bool argsort) {
    const uint64_t pairs = min_u64(n, PAIR_SLOTS_MAX), pair_nbytes = key_nbytes + value_nbytes;
    const bool pairs_in_slots = !argsort && key_nbytes == 4 && value_nbytes == 4 && pairs * pair_nbytes >= SLOTS_MIN_NBYTES_PAIRS;
    const bool alone = !argsort && value_nbytes == 0, gathered = !argsort && value_nbytes > MOVED_VALUE_MAX;
    struct sort_scratch s = layout_headers(n, key_nbytes, alone, pairs_in_slots);
    const uint32_t word = word_nbytes(n, value_nbytes), widest = value_nbytes == 16 ? 16 : word; /* that a partition moves */
    const uint64_t full_tile = (uint64_t)SORT_THREADS * max_rows(queue, key_nbytes, widest);
    const uint64_t at_once = (uint64_t)queue->nsms * SORT_CTAS_PER_SM, portion = min_u64(n, portion_items(n, key_nbytes));
    const uint64_t rounds = rounds_of_tiles(queue, n, max_rows(queue, key_nbytes, widest));
    const uint64_t tiles = max_u64(portion / full_tile, min_u64(rounds, SORT_FULL_ROUNDS) * at_once);
    s.state_rows = min_u64(portion / (SORT_THREADS * SORT_MIN_ROWS), tiles) + 1;

    const unsigned key_buffers = !argsort || key_nbytes == 2 ? 1 : key_nbytes == 1 ? 0 : 2;
    /* The second of two stable partitions may end every coarse bucket with a tile of its own. */
    const uint64_t more_rows = alone ? 0 : SORT_DIGITS;
    for (int i = 0; i < (is_one_round(n, key_nbytes) ? 1 : 2); i++)
        s.states[i] = take(&s.total, s.state_rows + more_rows, SORT_DIGITS * sizeof(uint32_t));
    for (unsigned i = 0; i < 2; i++) s.keys[i] = take(&s.total, i < key_buffers ? n : 0, key_nbytes);
    const bool indexed = argsort && key_nbytes == 4;
    const uint64_t in_slots = min_u64(n, SPLIT_MAX), item_nbytes = indexed ? 2 * key_nbytes : key_nbytes;
    const uint64_t least = indexed ? SLOTS_MIN_NBYTES : slots_min_alone(key_nbytes);
    if ((indexed || (alone && key_nbytes >= 4)) && in_slots * item_nbytes >= least) {
        uint64_t slots_total = s.states[0];
        s.slots =
            take(&slots_total, indexed ? in_slots + in_slots / SLOTS_MORE_PART : room_of_slots(in_slots, key_nbytes, false), item_nbytes);
        if (slots_total > s.total) s.total = slots_total;
    }
    uint64_t pairs_total = layout_headers(pairs, key_nbytes, false, pairs_in_slots).total;
    if (pairs_in_slots) s.slots = take(&pairs_total, room_of_slots(pairs, pair_nbytes, true), pair_nbytes);
    /* Values that are gathered in place are first copied to where keys and indices were. */
    s.values = take(&s.total, n, gathered ? max_u64(word, value_nbytes - min_u64(key_nbytes, value_nbytes)) : value_nbytes);
    s.indices = take(&s.total, gathered ? n : 0, word);
    if (pairs_total > s.total) s.total = pairs_total;
    return s;
}

#endif
