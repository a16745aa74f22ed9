/* short.cuh: inputs that are done by one CTA (small.cuh) or one cluster of them (cluster.cuh): which shape does it. */
#ifndef UPSWEEP_CUDA_SHORT_CUH
#define UPSWEEP_CUDA_SHORT_CUH

#include "cluster.cuh"
#include "small.cuh"
#include "tuning.h"

/* A large cluster's tiles may not fit: places of many small elements. */
template <class P, class Args> static bool launch_large(const struct cuda_queue *queue, const Args &args, cudaError_t *error) {
    if constexpr (sizeof(typename P::Shared) <= MAX_STATIC_NBYTES) {
        if (!should_run_cluster<P>(queue, args.n)) return false;
        *error = launch_cluster<P>(queue, args, args.n);
        return true;
    }
    return false;
}

/* Queues the kernel of one call, whose error it leaves, if the input is so short. A::Policy<Shape>: the primitive's. large: 256 to 512 KiB,
 * too. */
template <class A, class Args> static bool launch_short(const struct cuda_queue *queue, const Args &args, bool large, cudaError_t *error) {
    typedef typename A::template Policy<TinyShape> Tiny;
    typedef typename A::template Policy<ShortShape> Short;
    typedef typename A::template Policy<ClusterShape> Cluster;
    typedef typename A::template Policy<ClusterMidShape> MidCluster;
    typedef typename A::template Policy<ClusterLongShape> LongCluster;
    typedef typename A::template Policy<ClusterLargeShape> LargeCluster;
    if (should_run_small<Tiny>(queue, args.n))
        *error = launch_small<Tiny>(queue, args);
    else if (should_run_small<Short>(queue, args.n))
        *error = launch_small<Short>(queue, args);
    else if (should_run_cluster<Cluster>(queue, args.n))
        *error = launch_cluster<Cluster>(queue, args, args.n);
    else if (should_run_cluster<MidCluster>(queue, args.n))
        *error = launch_cluster<MidCluster>(queue, args, args.n);
    else if (should_run_cluster<LongCluster>(queue, args.n))
        *error = launch_cluster<LongCluster>(queue, args, args.n);
    else if (!large || !launch_large<LargeCluster>(queue, args, error))
        return false;
    return true;
}

#endif
