/* test_link.c: a plain C program, linked with nothing but the library, as a user's would be; once with the static one, once with the
 * shared one. Checks that header and library are of one version. */
#include <stdio.h>
#include <string.h>

#include <upsweep.h>

/* The names of functions within the library are the program's to use: this one is not called in place of ours. */
int sort_run(void);
int sort_run(void) { return 7; }

static int failed, passed;

static void check(int good, const char *what) {
    if (good)
        passed++;
    else {
        failed++;
        printf("failed: %s\n", what);
    }
}

int main(void) {
    upsweep_context *ctx = NULL;
    const int32_t keys[] = {3, -1, 2}, sorted[] = {-1, 2, 3};
    int32_t out[3] = {0};
    check(upsweep_version() == UPSWEEP_VERSION_MAJOR * 10000 + UPSWEEP_VERSION_MINOR * 100 + UPSWEEP_VERSION_PATCH, "version");
    check(upsweep_open(&ctx, "cpu") == UPSWEEP_OK, "open");
    check(upsweep_sort(ctx, out, keys, 3, UPSWEEP_I32, NULL) == UPSWEEP_OK, "sort");
    check(memcmp(out, sorted, sizeof out) == 0, "sorted");
    static int32_t many[10000];
    for (int32_t i = 0; i < 10000; i++) many[i] = 10000 - i;
    check(upsweep_sort(ctx, many, many, 10000, UPSWEEP_I32, NULL) == UPSWEEP_OK, "sort of many");
    check(many[0] == 1 && many[9999] == 10000, "many sorted, by the library's own functions");
    upsweep_close(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
