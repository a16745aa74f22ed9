/* subjects.c: all that can be measured, in one list: the rungs of the ladder, the library, the peers that this build has. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SUBJECTS = 128 };

/* "cpu threaded naive scan" -> "threaded-naive", "cpu scan" -> "serial", "cpu compact with scan" -> "with-scan", "std::sort" as it is. */
static void short_name(char out[64], const struct ladder_rung *rung) {
    static const char *const words[] = {[LADDER_SCAN] = "scan",
                                        [LADDER_COMPACT] = "compact",
                                        [LADDER_SORT] = "sort",
                                        [LADDER_UTF8_DECODE] = "utf8 decode",
                                        [LADDER_UTF8_ENCODE] = "utf8 encode"};
    const char *word = words[rung->primitive], *name = rung->name;
    if (strncmp(name, "cpu ", 4) == 0) name += 4;
    if (strncmp(name, "cuda ", 5) == 0) name += 5;
    snprintf(out, 64, "%s", strcmp(name, word) == 0 ? "serial" : name);

    const size_t length = strlen(out), word_length = strlen(word);
    if (length > word_length && out[length - word_length - 1] == ' ' && strcmp(out + length - word_length, word) == 0)
        out[length - word_length - 1] = '\0';
    if (strncmp(out, word, word_length) == 0 && out[word_length] == ' ') memmove(out, out + word_length + 1, length - word_length);
    for (char *c = out; *c != '\0'; c++) *c = *c == ' ' ? '-' : *c;
}

static struct subject of_rung(const struct ladder_rung *rung, char name[64]) {
    static const enum primitive primitives[] = {[LADDER_SCAN] = SCAN,
                                                [LADDER_COMPACT] = COMPACT,
                                                [LADDER_SORT] = SORT,
                                                [LADDER_UTF8_DECODE] = UTF8_DECODE,
                                                [LADDER_UTF8_ENCODE] = UTF8_ENCODE};
    short_name(name, rung);
    return (struct subject){.algorithm = name,
                            .primitive = primitives[rung->primitive],
                            .backend = rung->backend,
                            .types = rung->primitive > LADDER_SORT ? 1u << UPSWEEP_U8 : 1u << UPSWEEP_I32,
                            .params = rung->params,
                            .peer = rung->peer,
                            .rung = rung};
}

static size_t gather(struct subject list[MAX_SUBJECTS]) {
    static char names[MAX_SUBJECTS][64];
    const struct subject *(*const tables[])(size_t) = {
        library_at,
#ifdef BENCH_HAVE_STD
        std_peer_at,
#endif
#ifdef BENCH_HAVE_HWY
        hwy_peer_at,
#endif
#ifdef BENCH_HAVE_CUB
        cuda_peer_at,
#endif
#ifdef BENCH_HAVE_SIMDUTF
        simdutf_peer_at,
#endif
#ifdef BENCH_HAVE_ICONV
        iconv_peer_at,
#endif
    };
    size_t count = 0;
    for (size_t i = 0; ladder_at(i) != NULL && count < MAX_SUBJECTS; i++) {
        list[count] = of_rung(ladder_at(i), names[count]);
        count++;
    }
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (size_t i = 0; tables[t](i) != NULL && count < MAX_SUBJECTS; i++) list[count++] = *tables[t](i);
    }
    return count;
}

const struct subject *subject_at(size_t index) {
    static struct subject list[MAX_SUBJECTS];
    static size_t count;
    if (count == 0) count = gather(list);
    return index < count ? &list[index] : NULL;
}

/* Peers know good text only: they stop at the first error, or what they do instead is not what the library does. */
static bool takes_text(const struct subject *subject, const struct point *point) {
    if (!point_is_text(point) || subject->peer == NULL) return true;
    if (point->distribution == BAD || point->distribution == RANDOM) return false;
    return !point_converts(point) || (point->mode == UPSWEEP_STRICT && point->encoding != UPSWEEP_UTF8);
}

/* Rungs have one input each: random elements; good text to and from UTF-32. */
static bool rung_takes(const struct point *point) {
    if (point->cache != HOT) return false;
    if (!point_is_text(point)) return point->distribution == UNIFORM;
    return point->encoding == UPSWEEP_UTF32 && point->mode == UPSWEEP_REPLACE && point->distribution < BAD;
}

/* A parameter that a subject does not know may only have its default: else the same thing would be measured again and again. */
bool subject_takes(const struct subject *subject, const struct point *point) {
    if (subject->primitive != point->primitive || !(subject->types >> point->type & 1)) return false;
    if (point->block_size != 0 && !(subject->params & LADDER_BLOCK_SIZE)) return false;
    const uint32_t most_threads = subject->backend == LADDER_CPU ? 1 : 0; /* that say nothing new to who knows none */
    if (point->nthreads > most_threads && !(subject->params & LADDER_THREADS)) return false;
    if (point->num_bits != 0 && point->num_bits != 8 * point_item_nbytes(point) && !(subject->params & LADDER_NUM_BITS)) return false;
    if (!takes_text(subject, point)) return false;
    return subject->rung == NULL || rung_takes(point);
}
