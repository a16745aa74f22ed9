/* compact.c: drop the rays that have left the scene: records of 32 bytes, kept by a byte flag each, in their old order.
 * On the CPU backend any host memory is context memory, so nothing is uploaded. Build: cc compact.c -lupsweep */
#include <stdio.h>
#include <upsweep.h>

struct ray {
    float origin[3], direction[3];
    uint32_t pixel, bounces;
};

int main(void) {
    enum { N = 1000 };
    static struct ray rays[N], alive[N];
    static uint8_t hit[N];
    uint64_t count = 0, expected = 0;
    for (uint32_t i = 0; i < N; i++) {
        rays[i] = (struct ray){.direction = {0, 0, 1}, .pixel = i};
        hit[i] = (uint8_t)(i * 2654435761u >> 31); /* about half of them */
        expected += hit[i];
    }

    upsweep_context *ctx;
    if (upsweep_open(&ctx, "cpu") != UPSWEEP_OK) {
        fprintf(stderr, "%s\n", upsweep_error(NULL));
        return 1;
    }
    if (upsweep_compact_flags(ctx, alive, &count, rays, hit, N, sizeof rays[0]) != UPSWEEP_OK) fprintf(stderr, "%s\n", upsweep_error(ctx));
    upsweep_close(ctx);

    printf("%llu of %d rays go on; the first is of pixel %u\n", (unsigned long long)count, N, alive[0].pixel);
    for (uint64_t i = 1; i < count; i++)
        if (alive[i - 1].pixel >= alive[i].pixel) return 1;
    return count == expected ? 0 : 1;
}
