/* hog.h: a kernel that does nothing but keep multiprocessors busy. */
#ifndef HOG_H
#define HOG_H

#ifdef __cplusplus
extern "C" {
#endif

/* Queues a kernel that takes all shared memory of all multiprocessors but `nfree` for `microseconds`. Returns a cudaError_t. */
int hog_launch(void *stream, int nfree, unsigned microseconds);

#ifdef __cplusplus
}
#endif

#endif
