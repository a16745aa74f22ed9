/* utf8.c: text from outside, made safe: which bytes are no UTF-8, and what is the text without them? Then its characters, as code points.
 * Works on a GPU or a CPU, whichever is there. Build: cc utf8.c -lupsweep */
#include <stdio.h>
#include <string.h>
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
    static const char text[] = "caf\xC3\xA9 \xE2\x82 \xF0\x9F\x98\x80"; /* e acute; a euro sign that lacks a byte; a grinning face */
    enum { N = sizeof text - 1 };
    uint32_t codes[N];
    upsweep_utf8_report report;
    upsweep_context *ctx = NULL;
    void *d_text, *d_codes, *d_report;

    CHECK(upsweep_open(&ctx, "auto"));
    CHECK(upsweep_alloc(ctx, &d_text, N));
    CHECK(upsweep_alloc(ctx, &d_codes, sizeof codes)); /* a byte gives one code point at most */
    CHECK(upsweep_alloc(ctx, &d_report, sizeof report));
    CHECK(upsweep_upload(ctx, d_text, text, N));

    CHECK(upsweep_utf8_validate(ctx, d_report, d_text, N));
    if (upsweep_utf8_read_report(ctx, &report, d_report) == UPSWEEP_ERR_ENCODING) printf("%s\n", upsweep_error(ctx));

    CHECK(upsweep_utf8_decode(ctx, d_codes, N, d_report, d_text, N, NULL)); /* with U+FFFD for what is ill-formed */
    CHECK(upsweep_utf8_read_report(ctx, &report, d_report));
    CHECK(upsweep_download(ctx, codes, d_codes, report.written * sizeof codes[0]));
    for (uint64_t i = 0; i < report.written; i++) printf("U+%04X%c", (unsigned)codes[i], i + 1 < report.written ? ' ' : '\n');

    upsweep_free(ctx, d_text);
    upsweep_free(ctx, d_codes);
    upsweep_free(ctx, d_report);
    upsweep_close(ctx);
    static const uint32_t expected[] = {'c', 'a', 'f', 0xE9, ' ', 0xFFFD, ' ', 0x1F600};
    return report.written == 8 && memcmp(codes, expected, sizeof expected) == 0 && report.bad_sequences == 1 ? 0 : 1;
}
