/* gpu_5_peers.cu: the peers on the GPU: Thrust and CUB, NVIDIA's C++ template libraries, for comparison.
 *
 *     in                      3   0   7   0   4   1   0   3
 *     exclusive_scan          0   3   3  10  10  14  15  15      Thrust, and CUB's DeviceScan
 *     copy_if                 3   7   4   1   3                  Thrust, and CUB's DeviceSelect
 *     sort                    0   0   0   1   3   3   4   7      Thrust, and CUB's DeviceRadixSort
 *
 * Scan: work O(n), depth O(log n) and a short chain of tiles, bytes 8n; compaction: bytes 4 (n + kept); sort: 36n. Thrust is CUB plus an
 * allocation and a synchronisation a call, which here are part of its time as no caller can keep them out of it; CUB gets its temporary
 * memory beforehand. Built only where the headers are found. The one CUDA file in C++ style, with exceptions, none of which leaves it.
 * Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016; Adinets and Merrill, Onesweep, 2022. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/version.h>

#include <exception>
#include <stdio.h>

#include "device.cuh"

struct is_kept {
    __host__ __device__ bool operator()(int32_t x) const { return x != 0; }
};

/* What a call of a peer works on. */
struct peer_data {
    const struct ladder_job *job;
    int32_t *d_in, *d_out; /* [n]; d_out starts as a copy of d_in, for sorts in place */
    uint64_t *d_count;     /* a compaction leaves its count here */
    uint64_t count;        /* or here: what d_count would hold, for those that return it to the host */
    void *d_temp;          /* NULL: set temp_nbytes and do nothing else, as CUB has it */
    size_t temp_nbytes;
};

typedef cudaError_t peer_function(struct peer_data *data);

/* ---- the calls --------------------------------------------------------------------------------------------------------------- */

/* Sums as unsigned numbers, so that they wrap. */
static const uint32_t *as_unsigned(const int32_t *d_items) { return reinterpret_cast<const uint32_t *>(d_items); }
static uint32_t *as_unsigned(int32_t *d_items) { return reinterpret_cast<uint32_t *>(d_items); }

static cudaError_t thrust_scan(struct peer_data *data) {
    if (data->d_temp == NULL) return cudaSuccess;
    const uint32_t *d_in = as_unsigned(static_cast<const int32_t *>(data->d_in));
    thrust::exclusive_scan(thrust::device, d_in, d_in + data->job->n, as_unsigned(data->d_out));
    return cudaSuccess;
}

static cudaError_t thrust_compact(struct peer_data *data) {
    if (data->d_temp == NULL) return cudaSuccess;
    const int32_t *d_end = thrust::copy_if(thrust::device, data->d_in, data->d_in + data->job->n, data->d_out, is_kept());
    data->count = static_cast<uint64_t>(d_end - data->d_out);
    return cudaSuccess;
}

static cudaError_t thrust_sort(struct peer_data *data) {
    if (data->d_temp == NULL) return cudaSuccess;
    thrust::sort(thrust::device, data->d_out, data->d_out + data->job->n);
    return cudaSuccess;
}

static cudaError_t cub_scan(struct peer_data *data) {
    return cub::DeviceScan::ExclusiveSum(data->d_temp, data->temp_nbytes, as_unsigned(static_cast<const int32_t *>(data->d_in)),
                                         as_unsigned(data->d_out), static_cast<int64_t>(data->job->n));
}

static cudaError_t cub_compact(struct peer_data *data) {
    data->count = UINT64_MAX; /* see d_count */
    return cub::DeviceSelect::If(data->d_temp, data->temp_nbytes, data->d_in, data->d_out, data->d_count,
                                 static_cast<int64_t>(data->job->n), is_kept());
}

static cudaError_t cub_sort(struct peer_data *data) {
    return cub::DeviceRadixSort::SortKeys(data->d_temp, data->temp_nbytes, static_cast<const int32_t *>(data->d_in), data->d_out,
                                          static_cast<int64_t>(data->job->n), 0, static_cast<int>(data->job->num_bits));
}

/* ---- the runs ---------------------------------------------------------------------------------------------------------------- */

static cudaError_t prepare(struct peer_data *data, struct device_run *run, peer_function *call) {
    const struct ladder_job *job = data->job;
    void *d_count = NULL;
    CUDA_TRY(device_run_open(run));
    CUDA_TRY(device_alloc(run, &data->d_in, job->n));
    CUDA_TRY(device_alloc(run, &data->d_out, job->n));
    CUDA_TRY(device_alloc_bytes(run, &d_count, sizeof *data->d_count));
    data->d_count = static_cast<uint64_t *>(d_count);
    data->count = job->n;
    data->temp_nbytes = 0;
    CUDA_TRY(call(data));
    CUDA_TRY(device_alloc_bytes(run, &data->d_temp, data->temp_nbytes + 1)); /* + 1: never NULL */
    return cudaMemcpy(data->d_in, job->in, job->n * sizeof(int32_t), cudaMemcpyHostToDevice);
}

static cudaError_t run_on_device(struct ladder_job *job, struct device_run *run, peer_function *call) {
    struct peer_data data = {};
    data.job = job;
    CUDA_TRY(prepare(&data, run, call));
    for (uint32_t repeat = 0; repeat < job->repeats; repeat++) {
        struct ladder_times times = {};
        CUDA_TRY(cudaMemcpyAsync(data.d_out, data.d_in, job->n * sizeof(int32_t), cudaMemcpyDeviceToDevice, 0));
        CUDA_TRY(device_mark(run, 0));
        CUDA_TRY(call(&data));
        CUDA_TRY(device_mark(run, 1));
        CUDA_TRY(device_elapsed(run, 0, 1, &times.total_ms));
        ladder_record(job, times);
    }
    job->count = data.count;
    if (job->count == UINT64_MAX) CUDA_TRY(cudaMemcpy(&job->count, data.d_count, sizeof job->count, cudaMemcpyDeviceToHost));
    if (job->count > job->n) job->count = job->n; /* a wrong count must not become a wild copy */
    return cudaMemcpy(job->out, data.d_out, job->count * sizeof(int32_t), cudaMemcpyDeviceToHost);
}

static bool run_peer(struct ladder_job *job, peer_function *call) {
    struct device_run run = {};
    bool ok = false;
    try {
        ok = device_result(job, run_on_device(job, &run, call));
    } catch (const std::exception &exception) {
        cudaGetLastError();
        ladder_fail(job, "%s", exception.what());
    } catch (...) {
        cudaGetLastError();
        ladder_fail(job, "an unknown exception");
    }
    device_run_close(&run);
    return ok;
}

bool ladder_thrust_scan(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, thrust_scan); }
bool ladder_thrust_compact(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, thrust_compact); }
bool ladder_thrust_sort(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, thrust_sort); }
bool ladder_cub_scan(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, cub_scan); }
bool ladder_cub_compact(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, cub_compact); }
bool ladder_cub_sort(const struct ladder_rung *, struct ladder_job *job) { return run_peer(job, cub_sort); }

/* Both number their versions as MMMmmmpp. */
static const char *name_version(char text[32], const char *name, int version) {
    snprintf(text, 32, "%s %d.%d.%d", name, version / 100000, version / 100 % 1000, version % 100);
    return text;
}

const char *ladder_thrust_version(void) {
    static char text[32];
    return name_version(text, "Thrust", THRUST_VERSION);
}

const char *ladder_cub_version(void) {
    static char text[32];
    return name_version(text, "CUB", CUB_VERSION);
}
