/* scan.c: row offsets from row lengths, the use of an exclusive scan that everybody meets first (CSR matrices, ragged arrays, buckets).
 * Build: cc scan.c -lupsweep. Works on a GPU or a CPU, whichever is there: the data lies in memory of the context. */
#include <stdio.h>
#include <upsweep.h>

/* Reports the first call that failed; the library itself never prints. */
#define CHECK(call)                                                 \
    do {                                                            \
        if ((call) != UPSWEEP_OK) {                                 \
            fprintf(stderr, "%s: %s\n", #call, upsweep_error(ctx)); \
            return 1;                                               \
        }                                                           \
    } while (0)

int main(void) {
    const uint32_t lengths[8] = {3, 1, 7, 0, 4, 1, 6, 3};
    uint32_t offsets[8], total;
    upsweep_context *ctx = NULL;
    void *d_lengths, *d_offsets, *d_total;

    CHECK(upsweep_open(&ctx, "auto"));
    CHECK(upsweep_alloc(ctx, &d_lengths, sizeof lengths));
    CHECK(upsweep_alloc(ctx, &d_offsets, sizeof offsets));
    CHECK(upsweep_alloc(ctx, &d_total, sizeof total));
    CHECK(upsweep_upload(ctx, d_lengths, lengths, sizeof lengths));

    CHECK(upsweep_scan_ex(ctx, d_offsets, d_lengths, 8, UPSWEEP_U32, UPSWEEP_ADD, UPSWEEP_EXCLUSIVE, NULL, d_total));

    CHECK(upsweep_download(ctx, offsets, d_offsets, sizeof offsets));
    CHECK(upsweep_download(ctx, &total, d_total, sizeof total));
    for (int i = 0; i < 8; i++) printf("row %d: elements %u to %u\n", i, offsets[i], offsets[i] + lengths[i]);
    printf("%u elements in all\n", total);

    upsweep_free(ctx, d_total);
    upsweep_free(ctx, d_offsets);
    upsweep_free(ctx, d_lengths);
    upsweep_close(ctx);
    return total == 25 && offsets[7] == 22 ? 0 : 1;
}
