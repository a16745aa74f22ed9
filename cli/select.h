/* select.h: which elements of IN are kept: what compact and partition share. */
#ifndef UPSWEEP_CLI_SELECT_H
#define UPSWEEP_CLI_SELECT_H

#include "job.h"

enum selection { SELECT_KEPT, SELECT_INDICES, SELECT_SPLIT };

struct select {
    enum selection what;
    upsweep_predicate keep; /* unless there are flags */
    struct source flags;    /* fd is -1 if there are none */
    upsweep_type out_type;  /* of the results */
    size_t out_nbytes;
    void *items; /* [chunk_n]: elements as read, then results */
    uint8_t *flag_items;
    void *d_items, *d_flags, *d_out;
    uint64_t *d_count;
    uint64_t base; /* position of the next chunk */

    uint64_t n, n_kept; /* of this chunk; n is 0 at the end */
};

/* Reads the options that say what is kept. select_close() is due either way. */
bool select_open(struct select *select, struct job *job, enum selection what);
/* Takes the next chunk. Results: items [n_kept] of out_nbytes each; SPLIT: items [n], first those kept, then the others. */
bool select_next(struct select *select, struct job *job);
void select_close(struct select *select);

#endif
