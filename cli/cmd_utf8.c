/* cmd_utf8.c: `upsweep utf8`: decode, encode, clean, validate and count text, chunk after chunk.
 *
 *     held  chunk          the library leaves an unfinished sequence at the end of a chunk (3 code units at most) to the next call
 *     [..][..........]
 *
 * What it finds in a chunk is counted from the beginning of that chunk; sums and places in the whole text are kept here. */
#include <stdio.h>
#include <string.h>

#include "job.h"

typedef unsigned long long ull; /* for printf */

enum { HELD_MAX = 3 };

enum action { DECODE, ENCODE, VALIDATE, COUNT };

#define ERRORS_HELP                                                                                                       \
    "Ill-formed sequences become U+FFFD (--on-error replace), are left out (remove), or end it with status 1 (strict).\n" \
    "Leaving them out is unsafe for markup: what stood apart may then form something active."

static const struct usage usages[] = {
    [DECODE] = {.command = "utf8 decode",
                .bit = IN_UTF8_DECODE,
                .operands = "[IN [OUT]]",
                .intro = "Converts UTF-8 to UTF-32 or UTF-16, or cleans it (--to utf8).\n" ERRORS_HELP,
                .no = "ill-formed text under --on-error strict",
                .examples = "  upsweep utf8 decode text.txt text.utf32\n"
                            "  upsweep utf8 decode --to utf16le --on-error strict text.txt text.utf16\n"
                            "  generate | upsweep utf8 decode --to utf8 --report > clean.txt"},
    [ENCODE] = {.command = "utf8 encode",
                .bit = IN_UTF8_ENCODE,
                .operands = "[IN [OUT]]",
                .intro = "Converts UTF-32 or UTF-16 to UTF-8. Lone surrogates and values above 10FFFF are ill-formed.\n" ERRORS_HELP,
                .no = "ill-formed text under --on-error strict",
                .examples = "  upsweep utf8 encode --from utf16le text.utf16 text.txt\n"
                            "  upsweep utf8 encode --skip-bom --from utf16be old.txt new.txt"},
    [VALIDATE] = {.command = "utf8 validate",
                  .bit = IN_UTF8_LOOK,
                  .operands = "[IN]",
                  .intro = "Says whether IN is well-formed UTF-8: status 0, or 1 and where the first error is.",
                  .no = "ill-formed text",
                  .examples = "  upsweep utf8 validate --report text.txt"},
    [COUNT] = {.command = "utf8 count",
               .bit = IN_UTF8_LOOK,
               .operands = "[IN]",
               .intro = "Prints the number of code points in IN, an ill-formed sequence counting as one.",
               .examples = "  upsweep utf8 count text.txt"},
};

struct utf8_job {
    struct job job;
    enum action action;
    upsweep_encoding from, to;
    upsweep_utf8_options options;
    unsigned char *held_and_chunk; /* host memory */
    unsigned char *out;
    void *d_in, *d_out, *d_report;
    uint64_t n_held, capacity;
    upsweep_utf8_report total; /* over all chunks so far; error_at in the whole input */
};

/* ---- options ----------------------------------------------------------------------------------------------------------------- */

/* "utf32le" is what the library calls utf32: the tool runs on little-endian machines only. */
static bool parse_encoding(const char *option, const char *text, upsweep_encoding *encoding) {
    if (strcmp(text, "utf32le") == 0) text = "utf32";
    if (upsweep_encoding_from_name(text, encoding)) return true;
    return complain(NULL, "--%s: '%s' is none of utf32le, utf16le, utf16be%s", option, text, strcmp(option, "to") == 0 ? ", utf8" : "");
}

static bool read_options(struct utf8_job *u) {
    const char *const *option = u->job.args.option;
    u->from = u->action == ENCODE ? UPSWEEP_UTF32 : UPSWEEP_UTF8;
    u->to = u->action == ENCODE ? UPSWEEP_UTF8 : UPSWEEP_UTF32;
    if (option[OPT_FROM] && !parse_encoding("from", option[OPT_FROM], &u->from)) return false;
    if (u->action == ENCODE && u->from == UPSWEEP_UTF8) return complain(NULL, "--from: to clean UTF-8, use upsweep utf8 decode --to utf8");
    if (option[OPT_TO] && !parse_encoding("to", option[OPT_TO], &u->to)) return false;
    if (option[OPT_ON_ERROR] && !upsweep_on_error_from_name(option[OPT_ON_ERROR], &u->options.on_error))
        return complain(NULL, "--on-error: '%s' is none of replace, remove, strict", option[OPT_ON_ERROR]);
    u->options.encoding = u->action == ENCODE ? u->from : u->to;
    return true;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------------ */

static bool writes_output(const struct utf8_job *u) { return u->action == DECODE || u->action == ENCODE; }

/* Room for whatever a chunk and the held code units become. */
static bool get_memory(struct utf8_job *u) {
    const uint64_t units = u->job.chunk_n + HELD_MAX;
    const uint64_t most = u->to != UPSWEEP_UTF8 ? 1 : u->from == UPSWEEP_UTF32 ? 4 : 3;
    const size_t in_nbytes = upsweep_encoding_nbytes(u->from), out_nbytes = upsweep_encoding_nbytes(u->to);
    if (!(u->held_and_chunk = job_host(&u->job, units, in_nbytes))) return false;
    if (!(u->d_in = job_device(&u->job, units, in_nbytes))) return false;
    if (!(u->d_report = job_device(&u->job, 1, sizeof(upsweep_utf8_report)))) return false;
    if (!writes_output(u)) return true;
    u->capacity = units * most;
    return (u->out = job_host(&u->job, u->capacity, out_nbytes)) && (u->d_out = job_device(&u->job, u->capacity, out_nbytes));
}

static void add_to_total(struct utf8_job *u, const upsweep_utf8_report *r) {
    upsweep_utf8_report *total = &u->total;
    if (total->error == UPSWEEP_TEXT_GOOD && r->error != UPSWEEP_TEXT_GOOD) {
        total->error = r->error;
        total->error_at = total->consumed + r->error_at;
    }
    total->needed += r->needed;
    total->written += r->written;
    total->consumed += r->consumed;
    total->bad_sequences += r->bad_sequences;
    total->bad_units += r->bad_units;
}

/* Converts n code units at held_and_chunk, writes what they become, and moves what is to be held to the front. */
static bool convert_chunk(struct utf8_job *u, uint64_t n, bool more) {
    struct job *job = &u->job;
    const size_t in_nbytes = upsweep_encoding_nbytes(u->from), out_nbytes = upsweep_encoding_nbytes(u->to);
    upsweep_utf8_report r;
    u->options.more = more;
    u->options.skip_bom = job->args.option[OPT_SKIP_BOM] != NULL && u->total.consumed == 0;
    if (!job_ok(job, upsweep_upload(job->ctx, u->d_in, u->held_and_chunk, (size_t)n * in_nbytes))) return false;
    if (!job_ok(job, (u->action == ENCODE ? upsweep_utf8_encode : upsweep_utf8_decode)(job->ctx, u->d_out, u->capacity, u->d_report,
                                                                                       u->d_in, n, &u->options)))
        return false;
    const upsweep_status status = upsweep_utf8_read_report(job->ctx, &r, u->d_report);
    if (status != UPSWEEP_ERR_ENCODING && !job_ok(job, status)) return false;
    add_to_total(u, &r);
    u->n_held = n - r.consumed;
    memmove(u->held_and_chunk, u->held_and_chunk + r.consumed * in_nbytes, (size_t)u->n_held * in_nbytes);
    if (!writes_output(u) || r.written == 0) return true;
    if (!job_ok(job, upsweep_download(job->ctx, u->out, u->d_out, (size_t)r.written * out_nbytes))) return false;
    return sink_write(&job->out, u->out, r.written);
}

/* Has it found what ends the work before the input ends? */
static bool is_over(const struct utf8_job *u) {
    const bool validating = u->action == VALIDATE && !u->job.args.option[OPT_REPORT] && !u->job.args.option[OPT_REPORT_JSON];
    return u->total.error != UPSWEEP_TEXT_GOOD && (validating || u->options.on_error == UPSWEEP_STRICT);
}

static bool convert_all(struct utf8_job *u) {
    const size_t in_nbytes = upsweep_encoding_nbytes(u->from);
    for (;;) {
        uint64_t n;
        if (!job_read(&u->job, u->held_and_chunk + u->n_held * in_nbytes, &n)) return false;
        if (n == 0) return u->n_held == 0 || convert_chunk(u, u->n_held, false);
        if (!convert_chunk(u, u->n_held + n, true)) return false;
        if (is_over(u)) return true;
    }
}

/* ---- what is said about it ---------------------------------------------------------------------------------------------------- */

static const char *unit_name(const struct utf8_job *u) { return u->from == UPSWEEP_UTF8 ? "byte" : "code unit"; }

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static const char *error_text(const struct utf8_job *u) { return upsweep_text_error_text((upsweep_text_error)u->total.error); }

static void print_report(const struct utf8_job *u) {
    const upsweep_utf8_report *t = &u->total;
    const bool is_bad = t->error != UPSWEEP_TEXT_GOOD;
    if (u->job.args.option[OPT_REPORT_JSON]) {
        fprintf(stderr, "{\"consumed\": %llu, \"written\": %llu, \"bad_sequences\": %llu, \"bad_units\": %llu, ", (ull)t->consumed,
                (ull)t->written, (ull)t->bad_sequences, (ull)t->bad_units);
        if (is_bad) {
            fprintf(stderr, "\"error_at\": %llu, \"error\": \"%s\"}\n", (ull)t->error_at, error_text(u));
        } else {
            fprintf(stderr, "\"error_at\": null, \"error\": null}\n");
        }
    } else if (u->job.args.option[OPT_REPORT]) {
        fprintf(stderr, "%s: %llu %s%s read, %llu code unit%s written, %llu ill-formed sequence%s of %llu %s%s", u->job.in.name,
                (ull)t->consumed, unit_name(u), plural(t->consumed), (ull)t->written, plural(t->written), (ull)t->bad_sequences,
                plural(t->bad_sequences), (ull)t->bad_units, unit_name(u), plural(t->bad_units));
        if (is_bad) fprintf(stderr, "; the first is at %s %llu: %s", unit_name(u), (ull)t->error_at, error_text(u));
        fputc('\n', stderr);
    }
}

/* The exit status of an answer, after all has been read. */
static int answer(struct utf8_job *u) {
    const bool is_bad = u->total.error != UPSWEEP_TEXT_GOOD;
    progress_end();
    print_report(u);
    if (is_bad && (u->action == VALIDATE || u->options.on_error == UPSWEEP_STRICT)) {
        if (!u->job.args.option[OPT_REPORT_JSON]) /* which says it */
            complain(u->job.in.name, "%s %llu: %s", unit_name(u), (ull)u->total.error_at, error_text(u));
        return EXIT_NO;
    }
    if (writes_output(u)) return job_deliver(&u->job) ? EXIT_GOOD : EXIT_ERROR;
    if (u->action == COUNT) printf("%llu\n", (ull)u->total.needed);
    return close_stdout(EXIT_GOOD);
}

static int run(struct utf8_job *u) {
    static const upsweep_type types[] = {
        [UPSWEEP_UTF32] = UPSWEEP_U32, [UPSWEEP_UTF16LE] = UPSWEEP_U16, [UPSWEEP_UTF16BE] = UPSWEEP_U16, [UPSWEEP_UTF8] = UPSWEEP_U8};
    if (!read_options(u) || !job_open_raw(&u->job, types[u->from])) return EXIT_ERROR;
    if (writes_output(u) && !job_open_raw_out(&u->job, types[u->to])) return EXIT_ERROR;
    if (!get_memory(u) || !convert_all(u)) return EXIT_ERROR;
    return answer(u);
}

/* ---- the command ------------------------------------------------------------------------------------------------------------- */

static int print_help(void) {
    puts("Usage: upsweep utf8 decode|encode|validate|count [options] [IN [OUT]]\n");
    for (int a = DECODE; a <= COUNT; a++) printf("upsweep %s %s\n%s\n\n", usages[a].command, usages[a].operands, usages[a].intro);
    puts("upsweep utf8 decode --help and so on tell the options.");
    return close_stdout(EXIT_GOOD);
}

int cmd_utf8(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help();
    struct utf8_job u = {.total.error_at = UINT64_MAX};
    for (int a = DECODE; a <= COUNT; a++) {
        if (strcmp(name, strchr(usages[a].command, ' ') + 1) != 0) continue;
        int status;
        u.action = (enum action)a;
        job_init(&u.job);
        if (arguments_parse(&u.job.args, &usages[a], argc - 1, argv + 1, &status)) status = run(&u);
        job_close(&u.job, true);
        return status;
    }
    complain("utf8",
             *name ? "'%s' is none of decode, encode, validate, count (see upsweep utf8 --help)"
                   : "decode, encode, validate or count%s is missing (see upsweep utf8 --help)",
             name);
    return EXIT_ERROR;
}
