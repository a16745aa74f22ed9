/* sort_few.cuh: keys of few values: they are counted by value, and of keys alone the output is written from the counts.
 *
 *     sample    a key a thread: do they repeat enough?
 *     count     each CTA enters every value that it meets in a table, and counts it there
 *     merge     the tables of all CTAs into one
 *     plan      the last CTA sorts the values; their counts say where each one's run begins
 *     fill      by the kernel that would have done the passes (sort_pass.cuh, sort_few_fill.cuh), which if there is something with the keys
 *               are passes by the ranks of their values (sort_ranked_values.cuh)
 *
 * The sample only says whether to try. What it has missed is entered like any other value; and a CTA whose table is full, or which meets
 * many new values when it should know them all, or hears that another one does, counts its keys by their digits, as if nothing had been
 * tried (sort_histogram.cuh). If one does, or if the table of all is full, the values that are in there are added to the histograms of the
 * digits, each as often as it occurs, and the passes do the sort.
 *
 * Of keys alone, a CTA then puts keys of new values aside, up to one in VALUE_ASIDE_PART, and those it has met once. All of these are
 * counted by their digits, sorted by the passes by themselves, and come between the runs of the others: so a few keys that may be anything
 * do no harm.
 *
 * A table holds each value less (by exclusive or) the first key of all: so 0 marks a free place, and 0 itself has one of its own. The place
 * of a value is drawn by a multiplication, or is the next free one behind that.
 * Cost: keys read once and written once. Source: Knuth, The Art of Computer Programming, volume 3, section 6.4, for the tables; Batcher,
 * Sorting networks and their applications, 1968. */
#ifndef UPSWEEP_CUDA_SORT_FEW_CUH
#define UPSWEEP_CUDA_SORT_FEW_CUH

#include "sort_ranked_values.cuh"
#include "sort_read.cuh"
#include "sort_sums.cuh"

enum {
    VALUE_SAMPLE = 1024,   /* keys: one a thread of the kernels that count */
    VALUE_PROBES = 32,     /* places that a value may take, its own one and the next ones */
    VALUE_EARLY_KEYS = 32, /* of a thread; of few values, a CTA knows most by then, */
    VALUES_LATE = 32,      /* and will meet few others; */
    VALUE_ASIDE_PART = 64, /* or, of keys alone, one in so many keys has another, and is put aside, */
    VALUE_ASIDE_KEYS = 24, /* of so many of a thread at least */
    VALUES_MAX = 4096,     /* that are sorted, at most */
};

/* Shared memory of a CTA, dynamic: its table. */
static constexpr uint32_t value_table_nbytes(size_t key_nbytes) { return VALUE_SLOTS * (uint32_t)(key_nbytes + sizeof(uint32_t)); }

/* Of a CTA. */
struct value_desk {
    uint32_t full;              /* not 0 when counting on would be in vain */
    uint32_t nlate;             /* values that were entered late */
    uint32_t nput, first_aside; /* keys that were put aside, and where they come among those of all */
    uint32_t nvalues, naside;   /* of all */
    void *aside;                /* NULL, or for keys of rare values */
};

/* ---- the sample -------------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t value_slot(uint32_t value) { return value * 0x9e3779b1u >> (32 - VALUE_SLOT_BITS); }
static __device__ __forceinline__ uint32_t value_slot(uint64_t value) {
    return (uint32_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> (64 - VALUE_SLOT_BITS));
}

/* A sample: of each thread a key, the same in each CTA; any of the thread's part of all, since keys may lie in some order by equal
 * distances; not drawn by value_slot()'s hash: of keys that rise by equal steps many would share a counter, at one size in eight. JOB: one
 * that has n keys and a seed. */
template <typename JOB> static __device__ __forceinline__ uint64_t sampled_at(const JOB &job, uint32_t thread) {
    const uint64_t n = job.n;
    return thread * n / VALUE_SAMPLE + draw_below((uint32_t)(n / VALUE_SAMPLE), thread, job.seed);
}
template <typename KEY, typename JOB> static __device__ __forceinline__ KEY sampled_key(const KEY *keys, const JOB &job) {
    return keys[sampled_at(job, threadIdx.x)];
}

/* Are keys of some 3000 values, or fewer, if so many of a sample occur once, and so many are one of two? Of so many values five times as
 * many occur once as occur twice; of keys that are spread more, or whose frequencies have a long tail, more. */
static __device__ __forceinline__ bool are_few_values(int nonce, int ntwice) { return 2 * nonce <= 5 * ntwice + VALUE_SAMPLE / 128; }

/* Of some 1500 values, or fewer, and hardly any others? */
static __device__ __forceinline__ bool are_fewer_values(int nonce, int ntwice) { return 2 * nonce <= 3 * ntwice + VALUE_SAMPLE / 512; }

/* And of some 350 values, or fewer? */
static __device__ __forceinline__ bool are_very_few_values(int nonce, int ntwice) { return 3 * nonce <= ntwice + VALUE_SAMPLE / 128; }

/* How many keys of a sample, one a thread, occur once, and how many are one of two? s_counts [VALUE_SLOTS]: zero, and will be again. All
 * threads call it. */
template <typename KEY> static __device__ __forceinline__ void count_sample(int *nonce, int *ntwice, KEY sampled, uint32_t *s_counts) {
    uint32_t *counter = &s_counts[value_slot(sampled)];
    atomicAdd(counter, 1);
    __syncthreads(); /* all counts */
    const uint32_t count = *counter;
    *nonce = __syncthreads_count(count == 1);
    *ntwice = __syncthreads_count(count == 2); /* each of these by two threads */
    *counter = 0;
    __syncthreads(); /* zeroes before counts */
}

/* Do the keys look like few values? most: how many that are. As above. */
template <typename KEY, typename JOB>
static __device__ __forceinline__ bool sample_has_few_values(const KEY *keys, const JOB &job, uint32_t *s_counts) {
    int nonce, ntwice;
    count_sample(&nonce, &ntwice, (KEY)(sampled_key(keys, job) ^ keys[0]), s_counts);
    return job.most_values > SORT_DIGITS ? are_few_values(nonce, ntwice) : are_very_few_values(nonce, ntwice);
}

/* ---- counting ---------------------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t swap_if_free(uint32_t *place, uint32_t value) { return atomicCAS(place, 0u, value); }

static __device__ __forceinline__ uint64_t swap_if_free(uint64_t *place, uint64_t value) {
    return atomicCAS((unsigned long long *)place, 0ull, (unsigned long long)value);
}

/* Where in the table a value is, now at the latest if it enters; VALUE_SLOTS if it is not there, and does not enter, or there is no room.
 * Value 0, whose place is the first one, is always there. Unrolled in full: out of a loop lanes come one by one, and a warp goes on in
 * pieces. */
template <typename T> static __device__ __forceinline__ uint32_t enter_value(T *table, T value, bool enters, bool *is_new) {
    uint32_t slot = value_slot(value);
    *is_new = false;
#pragma unroll
    for (int probe = 0; probe < VALUE_PROBES; probe++) {
        T found = *(volatile T *)&table[slot];
        if (found == 0 && slot != 0) {
            if (!enters) return VALUE_SLOTS;
            found = swap_if_free(&table[slot], value);
            *is_new = found == 0;
            if (found == 0) found = value;
        }
        if (found == value) return slot;
        slot = (slot + 1) % VALUE_SLOTS;
    }
    return VALUE_SLOTS;
}

template <typename KEY> struct value_counts {
    const KEY first;
    KEY *const values;
    uint32_t *const counts;
    struct value_desk &desk;
    volatile uint32_t *const incomplete; /* of all */
    uint32_t &nseen;                     /* keys, by this thread */
    uint32_t &news;                      /* of thread 0: what it was when looked at last, which nobody has to wait for */

    __device__ __forceinline__ void give_up() const { *incomplete = desk.full = 1; }

    __device__ __forceinline__ void put_aside(KEY value) const {
        const uint32_t number = atomicAdd(&desk.nput, 1);
        if (number >= VALUES_LATE + (nseen - VALUE_EARLY_KEYS) * (VALUE_SAMPLE / VALUE_ASIDE_PART)) return give_up();
        ((KEY *)desk.aside)[number] = value ^ first;
    }

    __device__ __forceinline__ void enter(KEY value) const {
        const bool late = nseen >= VALUE_EARLY_KEYS, enters = !late || *(volatile uint32_t *)&desk.nlate < VALUES_LATE;
        bool is_new;
        const uint32_t slot = enter_value(values, value, enters, &is_new);
        if (slot == VALUE_SLOTS) return enters || !desk.aside ? give_up() : put_aside(value);
        atomicAdd(&counts[slot], 1);
        if (is_new && late) atomicAdd(&desk.nlate, 1);
    }

    template <int N> __device__ __forceinline__ void add(const KEY (&keys)[N]) const {
        constexpr int GROUP = N < 4 ? N : 4;
        if (threadIdx.x == 0) {
            if (news) give_up();
            news = *incomplete;
        }
        if (*(volatile uint32_t *)&desk.full) return;
#pragma unroll
        for (int begin = 0; begin < N; begin += GROUP) {
            uint32_t slots[GROUP], missed = 0;
            KEY there[GROUP];
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                slots[i] = value_slot((KEY)(keys[begin + i] ^ first));
                there[i] = ((volatile KEY *)values)[slots[i]];
            }
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                if (there[i] == (keys[begin + i] ^ first))
                    atomicAdd(&counts[slots[i]], 1);
                else
                    missed |= 1u << i;
            }
            if (missed == 0) continue;
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                if (missed >> i & 1) enter(keys[begin + i] ^ first);
            }
        }
        nseen += N;
    }
};

/* Adds some keys that are the same to the histograms of all digits. */
template <typename KEY> static __device__ __forceinline__ void add_digits(const struct sort_job &job, KEY key, uint64_t count) {
    const KEY image = key_order<KEY>(job).image(key);
    for (uint32_t pass = 0; pass < job.npasses; pass++) {
        uint64_t *counter = &job.header->base[0][pass][digit_of(image, job.shift[pass], job.mask[pass])];
        atomicAdd((unsigned long long *)counter, (unsigned long long)count);
    }
}

/* Adds a CTA's table to that of all. What finds no room there is counted by its digits; values that have occurred once are put aside, if
 * there is where. CTAs begin in different places, so that most values have been entered by another one. All
 * threads call it. */
template <typename KEY>
static __device__ __forceinline__ void merge_values(const struct sort_job &job, const struct value_counts<KEY> &mine) {
    struct value_table *all = &job.header->values;
    KEY *const aside = (KEY *)mine.desk.aside;
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += VALUE_SAMPLE) {
        const uint32_t place = (i + blockIdx.x * VALUE_SAMPLE) % VALUE_SLOTS, count = mine.counts[place];
        if (count == 0) continue;
        if (count == 1 && aside) {
            aside[atomicAdd(&mine.desk.nput, 1)] = mine.values[place] ^ mine.first;
            continue;
        }
        bool is_new;
        const uint32_t slot = enter_value(all->key, (uint64_t)mine.values[place], true, &is_new);
        if (slot < VALUE_SLOTS) {
            atomicAdd((unsigned long long *)&all->count[slot], (unsigned long long)count);
        } else {
            *mine.incomplete = 1;
            add_digits<KEY>(job, mine.values[place] ^ mine.first, count);
        }
    }
}

/* Puts the keys that a CTA has put aside together with those of all others, and counts them by their digits. All threads call it, after a
 * barrier. */
template <typename KEY> static __device__ __forceinline__ void merge_aside(const struct sort_job &job, struct value_desk &s) {
    const uint32_t naside = s.nput;
    if (naside == 0) return;
    if (threadIdx.x == 0) s.first_aside = atomicAdd(&job.header->values.naside, naside);
    __syncthreads(); /* where they go */
    for (uint32_t i = threadIdx.x; i < naside; i += VALUE_SAMPLE) {
        const KEY key = ((const KEY *)s.aside)[i];
        ((KEY *)job.keys_tmp)[s.first_aside + i] = key;
        add_digits<KEY>(job, key, 1);
    }
}

/* Where a CTA puts keys aside: in its part of the second half of a buffer, so that those of all have room in the first half. NULL if
 * something goes with them, or if there are so few that values may have occurred once that are not rare. They always have room: they are
 * keys that it meets late, one in VALUE_ASIDE_PART of them, and VALUES_LATE more, or whole values, of which it has counted VALUE_SLOTS at
 * most. */
template <typename KEY> static __device__ __forceinline__ KEY *place_aside(const struct sort_job &job) {
    constexpr uint32_t LEAST = VALUE_ASIDE_KEYS * VALUE_SAMPLE / 2; /* keys of a CTA's part */
    static_assert(LEAST > VALUE_SLOTS + 2 * VALUES_LATE + 2 * LEAST / VALUE_ASIDE_PART, "room for them");
    const uint64_t half = job.n / 2, part = half / gridDim.x;
    return job.has_values || part < LEAST ? NULL : (KEY *)job.keys_tmp + half + part * blockIdx.x;
}

/* Counts the CTA's share of all keys by value, if a sample, the same in all CTAs, says that it may help: *tried. False if this one has too
 * many, and nothing has been counted. All threads call it. */
template <typename KEY>
static __device__ __forceinline__ bool count_by_value(const struct sort_job &job, unsigned char *s_memory, struct value_desk &s,
                                                      bool *tried) {
    KEY *s_values = (KEY *)s_memory;
    uint32_t *s_counts = (uint32_t *)(s_values + VALUE_SLOTS), nseen = 0, news = 0;
    const KEY *keys = (const KEY *)job.keys_in;
    for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += VALUE_SAMPLE) s_counts[i] = 0;
    if (threadIdx.x == 0) {
        s.full = s.nlate = s.nput = 0;
        s.aside = place_aside<KEY>(job);
    }
    __syncthreads(); /* zeroes before counts */
    const struct value_counts<KEY> counts = { keys[0], s_values, s_counts, s, &job.header->values.incomplete, nseen, news };
    bool few = *tried = sample_has_few_values(keys, job, s_counts);
    if (few) {
        for (uint32_t i = threadIdx.x; i < VALUE_SLOTS; i += VALUE_SAMPLE) s_values[i] = 0;
        __syncthreads(); /* zeroes before values */
        read_keys(keys, job.n, counts);
        if (threadIdx.x == 0 && news) s.full = 1;
        __syncthreads(); /* all counts */
        few = !s.full;
    }
    if (few) {
        merge_values(job, counts);
        __syncthreads(); /* all are put aside that will be */
        if (s.aside) merge_aside<KEY>(job, s);
    } else if (threadIdx.x == 0) {
        *counts.incomplete = 1;
    }
    __syncthreads(); /* nobody needs the shared memory any more */
    return few;
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* Counted values, in shared memory: images and how many keys of each. */
template <typename KEY> struct counted_values {
    uint64_t *const counts;
    KEY *const images;

    __device__ __forceinline__ explicit counted_values(unsigned char *s_memory)
        : counts((uint64_t *)s_memory), images((KEY *)(counts + VALUES_MAX)) {}

    __device__ __forceinline__ void set(uint32_t i, KEY image, uint64_t count) const {
        images[i] = image;
        counts[i] = count;
    }

    /* Puts i before k, or behind it; places that are left over have the greatest image, and no keys. */
    __device__ __forceinline__ void order(uint32_t i, uint32_t k, bool before) const {
        const KEY a = images[i], b = images[k];
        const uint64_t na = counts[i], nb = counts[k];
        if ((a > b || (a == b && na < nb)) != before) return;
        set(i, b, nb);
        set(k, a, na);
    }
};
static_assert(VALUES_MAX * 2 * sizeof(uint64_t) <= value_table_nbytes(8) && VALUES_MAX * 12 <= value_table_nbytes(4), "it must fit");

/* Sorts nplaces of them, a power of two: a bitonic network. All threads call it, after a barrier. */
template <typename KEY> static __device__ __forceinline__ void sort_values(const struct counted_values<KEY> &values, uint32_t nplaces) {
    for (uint32_t size = 2; size <= nplaces; size *= 2) {
        for (uint32_t apart = size / 2; apart > 0; apart /= 2) {
            for (uint32_t i = threadIdx.x; i < nplaces / 2; i += blockDim.x) {
                const uint32_t low = 2 * i - (i & (apart - 1));
                values.order(low, low + apart, (low & size) == 0);
            }
            __syncthreads(); /* all pairs */
        }
    }
}

/* Of keys with something beside them: do the values differ in more than one digit? All threads call it. */
template <typename KEY>
static __device__ __forceinline__ bool differ_in_digits(const struct sort_job &job, const struct counted_values<KEY> &values, uint32_t n) {
    uint32_t ndigits = 0;
    for (uint32_t pass = 0; pass < job.npasses; pass++) {
        const KEY varies = threadIdx.x < n ? values.images[threadIdx.x] ^ values.images[0] : (KEY)0;
        ndigits += __syncthreads_or(digit_of(varies, job.shift[pass], job.mask[pass]) != 0) != 0;
    }
    return ndigits > 1;
}

/* Writes the first n values, sorted, and where the run of each begins. Four a thread. s_sums [warps]. */
template <typename KEY>
static __device__ __forceinline__ void write_values(const struct sort_job &job, const struct counted_values<KEY> &values, uint32_t n,
                                                    uint64_t *s_sums) {
    constexpr uint32_t EACH = VALUES_MAX / VALUE_SAMPLE;
    const struct key_order<KEY> order(job);
    const uint32_t begin = threadIdx.x * EACH, end = min(begin + EACH, n);
    uint64_t sum = 0;
    for (uint32_t i = begin; i < end; i++) sum += values.counts[i];
    uint64_t start = scan_threads(sum, s_sums);
    struct value_table *all = &job.header->values;
    for (uint32_t i = begin; i < end; i++) {
        all->key[i] = order.key_of_image(values.images[i]);
        all->count[i] = start;
        start += values.counts[i];
    }
    if (threadIdx.x == 0) all->nvalues = n;
}

/* The last CTA calls it, having seen all that the others did: plans the output if all keys are counted by value, but for those put aside:
 * s.naside, unless they are so few that they are as good as values. If not, or if there is something with the keys, sees to it that all are
 * counted by their digits, or by the ranks of their values, and returns false. All threads call it. */
template <typename KEY>
static __device__ bool plan_values(const struct sort_job &job, unsigned char *s_memory, struct value_desk &s, uint64_t *s_sums) {
    constexpr uint32_t EACH = VALUE_SLOTS / VALUE_SAMPLE;
    struct value_table *all = &job.header->values;
    const struct key_order<KEY> order(job);
    const struct counted_values<KEY> values(s_memory);
    const KEY first = *(const KEY *)job.keys_in;
    uint64_t counts[EACH];
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++)
        counts[k] = __ldcg(&all->count[k * VALUE_SAMPLE + threadIdx.x]); /* from L2, as atomics took place */
    if (threadIdx.x == 0) {
        s.naside = __ldcg(&all->naside);
        s.nvalues = __ldcg(&all->incomplete) ? VALUES_MAX + 1 : 0;
    }
    __syncthreads(); /* 0 before counts */
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        const uint32_t at = counts[k] ? atomicAdd(&s.nvalues, 1) : VALUES_MAX;
        if (at < VALUES_MAX) values.set(at, order.image((KEY)__ldcg(&all->key[k * VALUE_SAMPLE + threadIdx.x]) ^ first), counts[k]);
    }
    __syncthreads(); /* all values */
    const uint32_t ncounted = s.nvalues, naside = s.naside;
    const uint32_t n = ncounted + naside <= job.most_values ? ncounted + naside : ncounted;
    const bool few = n <= job.most_values && (!job.has_values || differ_in_digits(job, values, n)); /* else a pass by that digit does */
    if (few) {
        uint32_t nplaces = 1;
        while (nplaces < n) nplaces *= 2;
        for (uint32_t i = ncounted + threadIdx.x; i < n; i += VALUE_SAMPLE)
            values.set(i, order.image(__ldcg((const KEY *)job.keys_tmp + i - ncounted)), 1);
        for (uint32_t i = n + threadIdx.x; i < nplaces; i += VALUE_SAMPLE) values.set(i, (KEY) ~(KEY)0, 0);
        __syncthreads(); /* all places */
        if (threadIdx.x == 0) all->naside = s.naside = n > ncounted ? 0 : naside;
        sort_values(values, nplaces);
        write_values(job, values, n, s_sums);
        if (!job.has_values) return true;
        if (threadIdx.x < n) job.header->base[0][0][threadIdx.x] = values.counts[threadIdx.x]; /* the digit is the rank */
    }
    for (uint32_t k = 0; k < EACH; k++) {
        if (!few && counts[k]) add_digits<KEY>(job, (KEY)__ldcg(&all->key[k * VALUE_SAMPLE + threadIdx.x]) ^ first, counts[k]);
    }
    __threadfence(); /* these counts before the sums of them */
    __syncthreads();
    return false;
}

#endif
