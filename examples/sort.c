/* sort.c: a ranking: argsort of scores, best first; equal scores keep their order. On the CPU. Build: cc sort.c -lupsweep */
#include <stdio.h>
#include <upsweep.h>

int main(void) {
    const char *names[6] = {"ada", "bob", "cyd", "dee", "eve", "fay"};
    const double scores[6] = {7.5, 9.25, -1.0, 9.25, 0.0, 8.0};
    const upsweep_order best_first = {.descending = 1};
    uint32_t rank[6];

    upsweep_context *ctx;
    if (upsweep_open(&ctx, "cpu") != UPSWEEP_OK) {
        fprintf(stderr, "%s\n", upsweep_error(NULL));
        return 1;
    }
    const upsweep_status status = upsweep_argsort(ctx, rank, scores, 6, UPSWEEP_F64, UPSWEEP_U32, &best_first);
    if (status != UPSWEEP_OK) fprintf(stderr, "%s\n", upsweep_error(ctx));
    upsweep_close(ctx);
    if (status != UPSWEEP_OK) return 1;

    for (int i = 0; i < 6; i++) printf("%d. %s %g\n", i + 1, names[rank[i]], scores[rank[i]]);
    return rank[0] == 1 && rank[1] == 3 && rank[5] == 2 ? 0 : 1;
}
