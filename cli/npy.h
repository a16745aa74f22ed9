/* npy.h: the header of NumPy's .npy files. */
#ifndef UPSWEEP_CLI_NPY_H
#define UPSWEEP_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upsweep.h"

enum {
    NPY_MAGIC_NBYTES = 8,   /* "\x93NUMPY", major and minor version */
    NPY_DICT_MAX = 10000,   /* the longest header that NumPy itself loads by default */
    NPY_WHY_NBYTES = 160,   /* room for a sentence */
    NPY_HEADER_NBYTES = 128 /* of the headers that we write */
};

struct npy {
    upsweep_type type;
    uint64_t n; /* elements; n times their size fits int64_t */
};

/* Bytes of the length field that follows the magic: 2 or 4; 0 if this is no .npy file, or one of a version that we do not know. */
size_t npy_length_nbytes(const unsigned char magic[NPY_MAGIC_NBYTES], char why[NPY_WHY_NBYTES]);

/* Reads the dictionary, `{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }`. False: not one that we take, and why. */
bool npy_parse(struct npy *npy, const char *dict, size_t length, char why[NPY_WHY_NBYTES]);

/* A whole header of version 1 for a 1-D array. Its length does not depend on n, so it can be written first and corrected later. */
void npy_format(unsigned char header[NPY_HEADER_NBYTES], upsweep_type type, uint64_t n);

#endif
