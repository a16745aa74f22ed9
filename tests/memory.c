/* memory.c: context memory in which a byte written or read outside an array is noticed.
 *
 *     | no access | canary | array | shift | no access |        AT_END      (AT_START: the mirror image)
 *
 * On the host a slot is a mapping between two pages without access, so a load or store past the guarded side faults at once; canaries
 * catch stores on the other side. On a device there are only the canaries (and compute-sanitizer). Slots are kept and grow: a mapping a
 * case would cost more than the case. */
#include "harness.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY_NBYTES = 128 };

struct slot_memory {
    unsigned char *base; /* context memory [capacity] */
    size_t capacity;
    unsigned char *data; /* the array [nbytes], within base */
    size_t nbytes;
    size_t before, after; /* canary bytes on either side */
    unsigned char *image; /* [before + nbytes + after]: what put() wrote */
    size_t image_capacity;
};

struct memory {
    bool host;
    upsweep_context *ctx; /* copies in and out */
    struct slot_memory slots[SLOTS];
};

static size_t page_nbytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void out_of_memory(void) {
    printf("the test itself is out of memory\n");
    exit(EXIT_FAILURE);
}

static void slot_free(struct memory *memory, struct slot_memory *slot) {
    if (!slot->base) return;
    if (memory->host)
        munmap(slot->base - page_nbytes(), slot->capacity + 2 * page_nbytes());
    else
        upsweep_free(memory->ctx, slot->base);
    slot->base = NULL;
}

static void slot_grow(struct memory *memory, struct slot_memory *slot, size_t nbytes) {
    const size_t page = page_nbytes();
    if (nbytes <= slot->capacity && slot->base) return;
    slot_free(memory, slot);
    slot->capacity = (nbytes + nbytes / 2 + page - 1) / page * page;
    if (memory->host) {
        unsigned char *map = mmap(NULL, slot->capacity + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED || mprotect(map + page, slot->capacity, PROT_READ | PROT_WRITE) != 0) out_of_memory();
        slot->base = map + page;
    } else {
        void *p = NULL;
        if (upsweep_alloc(memory->ctx, &p, slot->capacity) != UPSWEEP_OK) out_of_memory();
        slot->base = p;
    }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static size_t image_nbytes(const struct slot_memory *slot) { return slot->before + slot->nbytes + slot->after; }

/* A pattern that no shifted copy of itself, no fill and no zero page matches. */
static unsigned char pattern(size_t i) { return (unsigned char)(0xa5 ^ i ^ i >> 8 ^ (i >> 4) * 7); }

void *put(struct setup *s, enum slot which, struct place place, const void *host, size_t nbytes) {
    struct memory *memory = s->memory;
    struct slot_memory *slot = &memory->slots[which];
    slot_grow(memory, slot, nbytes + place.shift + 2 * CANARY_NBYTES);
    const size_t offset = place.side == AT_START ? place.shift : slot->capacity - place.shift - nbytes;
    slot->data = slot->base + offset;
    slot->nbytes = nbytes;
    slot->before = smaller(CANARY_NBYTES, offset);
    slot->after = smaller(CANARY_NBYTES, slot->capacity - offset - nbytes);

    if (image_nbytes(slot) > slot->image_capacity) {
        free(slot->image);
        slot->image_capacity = 2 * image_nbytes(slot);
        slot->image = must_malloc(slot->image_capacity);
    }
    const size_t filled = host ? slot->before : image_nbytes(slot);
    for (size_t i = 0; i < filled; i++) slot->image[i] = pattern(i);
    if (host) {
        if (nbytes) memcpy(slot->image + slot->before, host, nbytes);
        for (size_t i = slot->before + nbytes; i < image_nbytes(slot); i++) slot->image[i] = pattern(i);
    }
    CHECK_OK(upsweep_upload(s->ctx, slot->data - slot->before, slot->image, image_nbytes(slot)));
    return slot->data;
}

bool take(struct setup *s, enum slot which, void *host) {
    const struct slot_memory *slot = &s->memory->slots[which];
    unsigned char *now = must_malloc(image_nbytes(slot));
    const bool copied = CHECK_OK(upsweep_download(s->ctx, now, slot->data - slot->before, image_nbytes(slot)));
    const size_t end = slot->before + slot->nbytes;
    const bool alive = copied && memcmp(now, slot->image, slot->before) == 0 && memcmp(now + end, slot->image + end, slot->after) == 0;
    if (host && slot->nbytes) memcpy(host, now + slot->before, slot->nbytes);
    free(now);
    return alive;
}

bool untouched(struct setup *s, enum slot which) {
    const struct slot_memory *slot = &s->memory->slots[which];
    unsigned char *now = must_malloc(slot->nbytes);
    const bool same = take(s, which, now) && memcmp(now, slot->image + slot->before, slot->nbytes) == 0;
    free(now);
    return same;
}

struct memory *memory_open(bool host, upsweep_context *ctx) {
    struct memory *memory = must_malloc(sizeof *memory);
    *memory = (struct memory){.host = host, .ctx = ctx};
    return memory;
}

void memory_close(struct memory *memory) {
    if (!memory) return;
    for (int i = 0; i < SLOTS; i++) {
        slot_free(memory, &memory->slots[i]);
        free(memory->slots[i].image);
    }
    free(memory);
}
