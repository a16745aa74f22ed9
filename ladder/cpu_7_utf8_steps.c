/* cpu_7_utf8_steps.c: rung 7 on the CPU: UTF-8 as a pipeline of scans, every step of which a parallel machine can do.
 *
 *     bytes        41   E2   82   AC   C3   A9
 *     map           0    0    1    2    0    1      offset of each byte in its sequence: from the three bytes before it
 *     scan          1    2    2    2    3    3      inclusive sum of "offset is 0": the number of its sequence, from 1
 *     scatter      41 . . .  E2 82 AC .  C3 A9 . .  to the sequence's group of four bytes
 *     decode       41        20AC        E9         each group on its own
 *
 *     code points  41        20AC        E9
 *     expand       41 . . .  E2 82 AC .  C3 A9 . .  four bytes each
 *     map, scan    1  0 0 0  1  1  1  0  1  1  0 0  which bytes are used, and the exclusive sum: where they go
 *     scatter      41   E2   82   AC   C3   A9      the padding is compacted away
 *
 * Work O(n), depth that of the scan. Bytes: decode 4n + 8n + 4n (to clear the groups) + 10n + 4n and the output, about 38 a byte, where the
 * library moves what is read and what is written. Everything between lives in memory for no reason but that each step is a step.
 * Source: Unicode Standard, table 3-7; Horn, Stream Reduction Operations for GPGPU Applications, GPU Gems 2, chapter 36, 2005. */
#include "rungs.h"
#include "utf8_steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- decode ------------------------------------------------------------------------------------------------------------------ */

static void decode_once(struct ladder_job *job, int32_t *offsets, int32_t *numbers, uint8_t *groups) {
    const uint8_t *in = (const uint8_t *)job->in;
    const double start = ladder_now_ms();
    for (uint64_t i = 0; i < job->n; i++) offsets[i] = offset_of(in, i);
    const double mapped = ladder_now_ms();
    int32_t sum = 0;
    for (uint64_t i = 0; i < job->n; i++) numbers[i] = sum += offsets[i] == 0;
    const double scanned = ladder_now_ms();
    job->count = (uint64_t)(uint32_t)sum;
    memset(groups, 0, (size_t)job->count * 4);
    for (uint64_t i = 0; i < job->n; i++) groups[4 * ((uint64_t)(uint32_t)numbers[i] - 1) + (uint64_t)offsets[i]] = in[i];
    for (uint64_t i = 0; i < job->count; i++) job->out[i] = decode_group(groups + 4 * i);
    const double scattered = ladder_now_ms();
    ladder_record(
        job, (struct ladder_times){
                 .total_ms = scattered - start, .map_ms = mapped - start, .scan_ms = scanned - mapped, .scatter_ms = scattered - scanned});
}

bool ladder_utf8_decode_steps(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    if (job->n > INT32_MAX) return ladder_fail(job, "sequences are counted in 31 bits: fewer than 2^31 bytes, please");
    int32_t *offsets = ladder_alloc(job, job->n), *numbers = ladder_alloc(job, job->n), *groups = ladder_alloc(job, job->n);
    const bool ok = offsets != NULL && numbers != NULL && groups != NULL;
    for (uint32_t repeat = 0; ok && repeat < job->repeats; repeat++) decode_once(job, offsets, numbers, (uint8_t *)groups);
    free(offsets);
    free(numbers);
    free(groups);
    return ok;
}

/* ---- encode ------------------------------------------------------------------------------------------------------------------ */

static void encode_once(struct ladder_job *job, uint8_t *groups, int32_t *flags, int32_t *places) {
    uint8_t *out = (uint8_t *)job->out;
    const uint64_t nbytes = 4 * job->n;
    const double start = ladder_now_ms();
    for (uint64_t i = 0; i < job->n; i++) {
        const int used = encode_group(groups + 4 * i, (uint32_t)job->in[i]);
        for (int k = 0; k < 4; k++) flags[4 * i + (uint64_t)k] = k < used;
    }
    const double mapped = ladder_now_ms();
    ladder_scan_serially(places, flags, nbytes);
    const double scanned = ladder_now_ms();
    const uint64_t used = (uint64_t)(uint32_t)places[nbytes - 1] + (uint64_t)flags[nbytes - 1];
    for (uint64_t i = 0; i < nbytes; i++) {
        if (flags[i]) out[(uint32_t)places[i]] = groups[i];
    }
    job->count = (used + 3) / 4;
    memset(out + used, 0, (size_t)(4 * job->count - used));
    const double scattered = ladder_now_ms();
    ladder_record(
        job, (struct ladder_times){
                 .total_ms = scattered - start, .map_ms = mapped - start, .scan_ms = scanned - mapped, .scatter_ms = scattered - scanned});
}

bool ladder_utf8_encode_steps(const struct ladder_rung *rung, struct ladder_job *job) {
    (void)rung;
    if (job->n > UINT32_MAX / 4) return ladder_fail(job, "bytes are counted in 32 bits: fewer than 2^30 code points, please");
    int32_t *groups = ladder_alloc(job, job->n), *flags = ladder_alloc(job, 4 * job->n), *places = ladder_alloc(job, 4 * job->n);
    const bool ok = groups != NULL && flags != NULL && places != NULL;
    for (uint32_t repeat = 0; ok && repeat < job->repeats; repeat++) encode_once(job, (uint8_t *)groups, flags, places);
    free(groups);
    free(flags);
    free(places);
    return ok;
}
