/* utf8.c: UTF-8 to and from UTF-16 and UTF-32 on the CPU: the chained pass of chain.h, whose carry is the code units written so far.
 *
 *     block    32 Ki code units of input, moved back by up to 3 so that no sequence is cut; with one task, all of the text
 *     piece    what one call of a kernel converts: as much as the room in the output is sure to hold; strict: no more than has been
 *              converted before, as what follows an error is converted in vain; where little room is left, 1 Ki, by way of the stack
 *     kernel   decode, encode, measure (utf8_kernels.h). Cleaning takes several, in pieces that stay in L1: measure; if all is good copy,
 *              else decode to code points, then encode
 *
 * Which sequence a byte belongs to shows in the three bytes before it, so all that a block needs from those before it is where its output
 * goes. One thread writes straight to the output. Several convert each its block into a stage in L2 and copy it when their carry is known:
 * counting first and converting then would classify every byte twice, which costs more than the copy.
 * Output past the capacity is counted but not written. Strict conversion ends its block at the first ill-formed sequence; what other
 * threads make of the text after it lies past `written`.
 *
 * Cost: n code units read, the output written. Scratch: a stage of 129 KiB a thread, if there are several. */
#include <string.h>

#include "chain.h"
#include "utf8_kernels.h"

enum {
    WORST_NBYTES = 4, /* what a code unit can become */
    BLOCK_UNITS = CHAIN_BLOCK_NBYTES / WORST_NBYTES,
    STRICT_UNITS = 16384,
    CLEAN_UNITS = 4096, /* a buffer of 16 KiB on the stack */
    STAGED_UNITS = 1024,
    SHARED_UNITS = 4096, /* with several threads: while one piece is converted, the next is fetched; no more than CLEAN_UNITS */
    LINE_NBYTES = 64,
    STAGE_NBYTES = CHAIN_BLOCK_NBYTES + 64, /* a block's beginning moves back, too */
};

/* From this many code units of input on the stages are flushed past the caches (as in scan.c). */
#define STREAM_UNITS (32u << 20)

#define NOWHERE UINT64_MAX

/* What a task has found; places are in the whole text. */
struct findings {
    uint64_t bad_sequences, bad_units;
    uint64_t error_at;         /* NOWHERE: none */
    uint64_t written_at_error; /* strict: code units of output before it */
};

struct task_memory {
    _Alignas(64) struct findings findings; /* in a cache line of its own */
    _Alignas(64) unsigned char stage[STAGE_NBYTES];
};

struct utf8_run {
    const struct utf8_args *args;
    const struct utf8_kernels *kernels;
    copy_kernel *flush;      /* from a stage to the output */
    const unsigned char *in; /* n code units: without the byte order mark and what is held back */
    uint64_t n;
    uint64_t nskipped;            /* code units before `in`, of the mark */
    size_t in_nbytes, out_nbytes; /* of a code unit */
    size_t most;                  /* code units of output that one of input can become */
    bool replace, strict;
    struct task_memory *tasks; /* [ntasks]; NULL with one task */
};

/* ---- kernels ----------------------------------------------------------------------------------------------------------------- */

struct piece {
    const void *in;
    size_t n;
};

static size_t measure_piece(const struct utf8_run *run, struct piece p, struct utf8_bad *bad) {
    const struct utf8_good good = run->kernels->measure(p.in, p.n, bad);
    const uint64_t nreplaced = run->replace ? bad->sequences : 0;
    if (run->args->to == UPSWEEP_UTF8) return (size_t)(p.n - bad->units + 3 * nreplaced);
    return (size_t)(good.sequences + (run->args->to == UPSWEEP_UTF32 ? 0 : good.of_4) + nreplaced);
}

static size_t clean_piece(const struct utf8_run *run, void *out, struct piece p, struct utf8_bad *bad) {
    measure_piece(run, p, bad);
    if (bad->sequences == 0) {
        memcpy(out, p.in, p.n);
        return p.n;
    }
    uint32_t codes[CLEAN_UNITS];
    struct utf8_bad again = UTF8_NONE_BAD;
    const size_t ncodes = run->kernels->decode[UPSWEEP_UTF32](codes, p.in, p.n, run->replace, &again);
    return run->kernels->encode[UPSWEEP_UTF32](out, codes, ncodes, true, &again);
}

/* Converts a piece to out; NULL, from UTF-8 only: measures it. Returns the code units that it becomes. */
static size_t run_kernels(const struct utf8_run *run, void *out, struct piece p, struct utf8_bad *bad) {
    const struct utf8_args *args = run->args;
    if (out == NULL) return measure_piece(run, p, bad);
    if (args->from != UPSWEEP_UTF8) return run->kernels->encode[args->from](out, p.in, p.n, run->replace, bad);
    if (args->to == UPSWEEP_UTF8) return clean_piece(run, out, p, bad);
    return run->kernels->decode[args->to](out, p.in, p.n, run->replace, bad);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------------------ */

/* The last place at or before `at` where a sequence begins. */
static uint64_t cut(const struct utf8_run *run, uint64_t at) {
    if (at >= run->n) return run->n;
    if (at == 0 || run->args->from == UPSWEEP_UTF32) return at;
    if (run->args->from == UPSWEEP_UTF8) return utf8_cut(run->in, (size_t)run->n, (size_t)at);
    const unsigned char *high_byte = run->in + 2 * at + (run->args->from == UPSWEEP_UTF16LE); /* its top six bits tell surrogates */
    return high_byte[0] >> 2 == 0xDC >> 2 && high_byte[-2] >> 2 == 0xD8 >> 2 ? at - 1 : at;
}

/* Converts p to out, which has room for all that it can become. out NULL, from UTF-8 only: measures it. Returns the code units that it
 * becomes; strict: up to the first ill-formed sequence. */
static size_t convert_piece(const struct utf8_run *run, void *out, struct piece p, struct utf8_bad *bad) {
    const size_t written = run_kernels(run, out, p, bad);
    if (!run->strict || bad->first == SIZE_MAX) return written;
    struct utf8_bad none = UTF8_NONE_BAD;
    return bad->first > 0 ? run_kernels(run, out, (struct piece){p.in, bad->first}, &none) : 0;
}

/* The same for a piece of at most STAGED_UNITS, of which `room` code units are written; out NULL: none. */
static size_t convert_staged(const struct utf8_run *run, void *out, uint64_t room, struct piece p, struct utf8_bad *bad) {
    _Alignas(64) unsigned char staged[STAGED_UNITS * WORST_NBYTES];
    const size_t written = convert_piece(run, staged, p, bad);
    if (out != NULL) memcpy(out, staged, (size_t)(written < room ? written : room) * run->out_nbytes);
    return written;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------------ */

struct range {
    uint64_t first, end;
};

static struct range range_of_block(const struct utf8_run *run, uint64_t first, size_t n) {
    return (struct range){cut(run, first), cut(run, first + n)};
}

static unsigned char *out_place(const struct utf8_run *run, unsigned char *out, uint64_t units) {
    return out != NULL ? out + (size_t)units * run->out_nbytes : NULL;
}

/* The code units of input that `room` code units of output hold, whatever they are. */
static uint64_t sure_to_fit(const struct utf8_run *run, const unsigned char *out, uint64_t room) {
    if (out == NULL) return run->args->from == UPSWEEP_UTF8 ? UINT64_MAX : 0;
    return run->most == 1 ? room : run->most == 3 ? room / 3 : room / 4;
}

/* Asks for [first, end) of the text. A thread that has every other block is at each as if it were at the beginning of a text: no hardware
 * knows where it goes on, and a third of its time would be waiting (two threads, Zen 5, 2026-11). */
static void prefetch_text(const struct utf8_run *run, uint64_t first, uint64_t end) {
    const unsigned char *in = run->in + (size_t)first * run->in_nbytes;
    for (size_t at = 0; at < (size_t)(end - first) * run->in_nbytes; at += LINE_NBYTES) __builtin_prefetch(in + at);
}

/* The most code units to convert at once, when some are done. */
static uint64_t longest_piece(const struct utf8_run *run, uint64_t done) {
    if (run->tasks != NULL) return SHARED_UNITS;
    if (run->args->from == run->args->to && run->args->out != NULL) return CLEAN_UNITS;
    if (!run->strict) return UINT64_MAX;
    return done > STRICT_UNITS ? done : STRICT_UNITS;
}

/* Converts a range of the text, as far as there is room, and takes what it finds into *found; written_at_error is from the beginning of the
 * range. Returns the code units that the range becomes. */
static uint64_t convert(const struct utf8_run *run, unsigned char *out, uint64_t room, struct range r, struct findings *found) {
    const uint64_t start = r.first;
    uint64_t written = 0;
    while (r.first < r.end && !(run->strict && found->error_at != NOWHERE)) {
        const uint64_t used = written < room ? written : room, sure = sure_to_fit(run, out, room - used);
        const bool staged = sure < STAGED_UNITS && sure < r.end - r.first;
        const uint64_t longest = longest_piece(run, r.first - start);
        const uint64_t most = staged ? STAGED_UNITS : sure < longest ? sure : longest;
        const uint64_t end = r.end - r.first > most ? cut(run, r.first + most) : r.end;
        const struct piece p = {run->in + (size_t)r.first * run->in_nbytes, (size_t)(end - r.first)};
        if (run->tasks != NULL) prefetch_text(run, end, r.end - end < most ? r.end : end + most);
        struct utf8_bad bad = UTF8_NONE_BAD;
        unsigned char *to = out_place(run, out, used);
        written += staged ? convert_staged(run, to, room - used, p, &bad) : convert_piece(run, to, p, &bad);
        if (bad.first != SIZE_MAX && found->error_at == NOWHERE) {
            found->error_at = r.first + bad.first;
            found->written_at_error = written;
        }
        found->bad_sequences += bad.sequences;
        found->bad_units += bad.units;
        r.first = end;
    }
    return written;
}

/* From UTF-8 to UTF-32: the places of the sequences in a range, as far as there is room. */
static void write_map(const struct utf8_run *run, uint64_t carry, struct range r) {
    const struct utf8_args *args = run->args;
    uint64_t length;
    for (uint64_t i = r.first; i < r.end && carry < args->capacity; i += length) {
        bool good;
        length = utf8_sequence(run->in + i, r.end - i < 4 ? (size_t)(r.end - i) : 4, &good);
        if (good || run->replace) args->map[carry++] = args->map_base + run->nskipped + i;
        if (run->strict && !good) return;
    }
}

/* What is left to do for a block when its carry is known. */
static void settle_block(const struct utf8_run *run, struct findings *found, struct range r, uint64_t carry) {
    const bool is_here = found->error_at >= r.first && found->error_at < r.end;
    if (is_here) found->written_at_error += carry;
    if (run->args->map != NULL && (!run->strict || is_here || found->error_at == NOWHERE)) write_map(run, carry, r);
}

static uint64_t room_after(const struct utf8_run *run, uint64_t carry) {
    return carry < run->args->capacity ? run->args->capacity - carry : 0;
}

/* ---- policies ---------------------------------------------------------------------------------------------------------------- */

static uint64_t reduce_block(const void *arg, uint32_t task, uint64_t first, size_t n) {
    const struct utf8_run *run = arg;
    struct task_memory *own = &run->tasks[task];
    unsigned char *stage = run->args->out != NULL ? own->stage : NULL;
    return convert(run, stage, STAGE_NBYTES / run->out_nbytes, range_of_block(run, first, n), &own->findings);
}

static uint64_t add_units(const void *arg, uint64_t carry, uint64_t aggregate) {
    (void)arg;
    return carry + aggregate;
}

static void finish_block(const void *arg, uint32_t task, uint64_t first, size_t n, uint64_t carry, uint64_t aggregate) {
    const struct utf8_run *run = arg;
    struct task_memory *own = &run->tasks[task];
    const uint64_t room = room_after(run, carry), fits = aggregate < room ? aggregate : room;
    if (fits > 0 && run->args->out != NULL) run->flush(out_place(run, run->args->out, carry), own->stage, (size_t)fits * run->out_nbytes);
    settle_block(run, &own->findings, range_of_block(run, first, n), carry);
}

/* For several tasks; one task converts all of the text at once. */
static const struct chain_policy policy = {reduce_block, add_units, finish_block, NULL};

/* ---- the call ---------------------------------------------------------------------------------------------------------------- */

/* Code units of `in` that hold a byte order mark which is to be skipped. */
static uint64_t bom_units(const struct utf8_args *args) {
    static const struct {
        uint8_t bytes[4], nbytes, units;
    } boms[] = {[UPSWEEP_UTF32] = {{0}, 4, 1},
                [UPSWEEP_UTF16LE] = {{0xFF, 0xFE}, 2, 1},
                [UPSWEEP_UTF16BE] = {{0xFE, 0xFF}, 2, 1},
                [UPSWEEP_UTF8] = {{0xEF, 0xBB, 0xBF}, 3, 3}};
    const uint32_t code = 0xFEFF;
    if (!args->skip_bom) return 0;
    const void *bom = args->from == UPSWEEP_UTF32 ? (const void *)&code : boms[args->from].bytes;
    if (args->n < boms[args->from].units || memcmp(args->in, bom, boms[args->from].nbytes) != 0) return 0;
    return boms[args->from].units;
}

/* Code units at the end of in [n] that begin a well-formed sequence but do not end it. */
static uint64_t unfinished_units(const unsigned char *in, uint64_t n, upsweep_encoding from) {
    if (n > 0 && (from == UPSWEEP_UTF16LE || from == UPSWEEP_UTF16BE)) {
        const unsigned char *last = in + 2 * (n - 1);
        return last[from == UPSWEEP_UTF16LE] >> 2 == 0xD8 >> 2;
    }
    for (uint64_t back = 1; from == UPSWEEP_UTF8 && back <= 3 && back <= n; back++) {
        const uint8_t *start = in + n - back;
        bool good;
        if (utf8_is_continuation(*start)) continue;
        return utf8_sequence(start, back, &good) == back && utf8_length_of_lead(*start) > back ? back : 0;
    }
    return 0;
}

upsweep_text_error cpu_utf8_error(const unsigned char *in, uint64_t n, upsweep_encoding from, uint64_t at) {
    if (from == UPSWEEP_UTF32) {
        uint32_t code;
        memcpy(&code, in + 4 * at, sizeof code);
        return code > 0x10FFFF ? UPSWEEP_TEXT_TOO_LARGE : UPSWEEP_TEXT_SURROGATE;
    }
    if (from != UPSWEEP_UTF8) return UPSWEEP_TEXT_SURROGATE;
    const uint8_t lead = in[at], second = at + 1 < n ? in[at + 1] : 0;
    if (utf8_is_continuation(lead)) return UPSWEEP_TEXT_STRAY;
    if (lead >= 0xF5) return UPSWEEP_TEXT_TOO_LARGE;
    if (lead < 0xC2) return UPSWEEP_TEXT_OVERLONG;
    if (!utf8_is_continuation(second) || utf8_is_second(lead, second)) return UPSWEEP_TEXT_TOO_SHORT;
    return lead == 0xED ? UPSWEEP_TEXT_SURROGATE : lead == 0xF4 ? UPSWEEP_TEXT_TOO_LARGE : UPSWEEP_TEXT_OVERLONG;
}

/* Adds what all tasks have found: sums, and the first error. */
static void merge(const struct utf8_run *run, uint32_t ntasks, struct findings *all) {
    for (uint32_t t = 0; t < ntasks; t++) {
        const struct findings *f = &run->tasks[t].findings;
        all->bad_sequences += f->bad_sequences;
        all->bad_units += f->bad_units;
        if (f->error_at >= all->error_at) continue;
        all->error_at = f->error_at;
        all->written_at_error = f->written_at_error;
    }
}

/* All of the text with one task, or with several. Returns the code units that it becomes. */
static uint64_t run_all(upsweep_context *ctx, const struct utf8_run *run, uint32_t ntasks, struct findings *found) {
    const struct range all = {0, run->n};
    if (run->n == 0) return 0;
    if (ntasks == 1) {
        const uint64_t units = convert(run, run->args->out, run->args->capacity, all, found);
        if (run->args->map != NULL) write_map(run, 0, all);
        return units;
    }
    for (uint32_t t = 0; t < ntasks; t++) run->tasks[t].findings = *found;
    const uint64_t units = chain_run(ctx, &policy, run, run->n, BLOCK_UNITS, 0, ntasks);
    merge(run, ntasks, found);
    return units;
}

static void write_report(const struct utf8_run *run, const struct findings *found, uint64_t units) {
    const struct utf8_args *args = run->args;
    const bool is_bad = found->error_at != NOWHERE, stopped = run->strict && is_bad;
    const uint64_t needed = stopped ? found->written_at_error : units;
    const bool fits = args->out == NULL || needed <= args->capacity;
    *args->report = (upsweep_utf8_report){
        .needed = needed,
        .written = fits && args->out != NULL ? needed : 0,
        .consumed = !fits ? 0 : run->nskipped + (stopped ? found->error_at : run->n),
        .bad_sequences = run->strict ? 0 : found->bad_sequences,
        .bad_units = run->strict ? 0 : found->bad_units,
        .error_at = is_bad ? run->nskipped + found->error_at : UINT64_MAX,
        .error = is_bad ? (uint32_t)cpu_utf8_error(run->in, run->n, args->from, found->error_at) : UPSWEEP_TEXT_GOOD,
        .status = !fits     ? UPSWEEP_ERR_CAPACITY
                  : stopped ? UPSWEEP_ERR_ENCODING
                            : UPSWEEP_OK,
    };
}

static void plain_copy(void *out, const void *in, size_t nbytes) { memcpy(out, in, nbytes); }

uint64_t cpu_utf8_scratch(upsweep_context *ctx, uint64_t n, size_t unit_nbytes) {
    const uint32_t ntasks = chain_ntasks(ctx, n, unit_nbytes);
    return ntasks > 1 ? (uint64_t)ntasks * sizeof(struct task_memory) : 0;
}

upsweep_status cpu_utf8(upsweep_context *ctx, const struct utf8_args *args) {
    static const uint64_t no_text;
    const uint32_t ntasks = chain_ntasks(ctx, args->n, encoding_nbytes(args->from));
    struct findings found = {.error_at = NOWHERE};
    struct utf8_run run = {
        .args = args,
        .kernels = cpu_impl(ctx)->utf8,
        .flush = args->n >= STREAM_UNITS ? cpu_kernels(ctx)->stream_copy : plain_copy,
        .in = args->n > 0 ? args->in : &no_text,
        .nskipped = bom_units(args),
        .in_nbytes = encoding_nbytes(args->from),
        .out_nbytes = encoding_nbytes(args->to),
        .most = args->to != UPSWEEP_UTF8                                    ? 1
                : args->from == UPSWEEP_UTF32 || args->from == UPSWEEP_UTF8 ? 4 /* of code points, by way of which text is cleaned */
                                                                            : 3,
        .replace = args->on_error == UPSWEEP_REPLACE,
        .strict = args->on_error == UPSWEEP_STRICT,
        .tasks = ntasks > 1 ? ctx->scratch : NULL,
    };
    run.in += run.nskipped * run.in_nbytes;
    run.n = args->n - run.nskipped;
    if (args->more) run.n -= unfinished_units(run.in, run.n, args->from);
    const uint64_t units = run_all(ctx, &run, ntasks, &found);
    write_report(&run, &found, units);
    return UPSWEEP_OK;
}
