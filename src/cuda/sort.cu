/* sort.cu: stable radix sort of keys, of pairs, and of indices. Four ways; read in this order:
 *
 *     sort_call.cuh       the steps that there are; what is known of a sort on the host
 *     sort_plan.cuh       which of the ways below a sort takes, and in which order; sort_split_choose.cuh: by how many buckets
 *     sort_keys.cuh       which launches one step after the other
 *     sort_job.cuh        what a sort is: buffers, plan, and how a key becomes a digit
 *     sort_rank.cuh       where in its tile does a key go
 *     sort_lookback.cuh   how many keys went before the tile
 *     sort_tile.cuh       a stable partition of one tile
 *
 *     1. onesweep         from the lowest digit up, for any keys: sort_histogram.cuh, then sort_pass.cuh; without bits that all keys
 *                         share, sort_gaps.cuh, or nearly all, sort_strays.cuh; 64-bit keys mostly by their highest digits only,
 *                         sort_mend.cuh, sort_mend_long.cuh; of keys alone the first pass is not stable, sort_unordered.cuh
 *        sort_rounds.cuh  the same in one launch, of as many keys as fit the multiprocessors
 *     2. splits           from the highest bits down: buckets first, then each by itself (sort_window.cuh)
 *        sort_split.cuh   of keys alone, and for an argsort of 32-bit keys: sort_partition.cuh, sort_bucket.cuh, sort_repeats.cuh,
 *                         sort_bucket_large.cuh
 *        sort_fused.cuh   with two of its steps in one launch, of as many keys as fit the multiprocessors; also for pairs of 32-bit keys,
 *                         and for these keys by some of their bits: sort_item.cuh, sort_values.cuh
 *        sort_fused_gaps.cuh     of those that have bits in common; passes leave these out, too: sort_gaps.cuh
 *        sort_fused_sample.cuh   of those alone that are skewed: sort_sample.cuh
 *        sort_fused_splitters.cuh  of more of these, alone: sort_fused_drawn.cuh
 *        sort_cells.cuh   of floats, whose highest bits are never spread: sort_digits.cuh; in one launch, sort_fused_cells.cuh
 *        sort_by_value.cuh   of some of them by their values, if these are spread evenly
 *        sort_slots.cuh   of many uniform integers alone, whose buckets are not even counted before; of floats, sort_value_slots.cuh if
 *                         their values are uniform, and sort_cell_slots.cuh; of others, and skewed keys of 64 bits, sort_sample_slots.cuh
 *        sort_stable.cuh  of keys with values: sort_placed.cuh; of uniform ones of 32 bits with 4 bytes before that, sort_slots_pairs.cuh
 *     3. counting         of keys of 1 and 2 bytes alone, which are not moved but written anew: sort_bytes.cuh, sort_shorts.cuh
 *        sort_bytes_few.cuh, sort_shorts_fused.cuh   of fewer
 *        sort_few.cuh     of others of few values, by the kernels of onesweep, sort_few_fill.cuh; with something beside them, one pass:
 *                         sort_ranked_values.cuh
 *     4. ranking          of some thousand: each key's place by itself, sort_ranks.cuh
 *
 * What is decided on the host depends on sizes and alignment only (sort_plan.cuh); what depends on the keys is decided by the first kernel:
 * onesweep, or rounds, are queued with every split, for keys that the split is not for; of keys alone that fit a few rows of a thread the
 * launch that splits them goes on by rounds itself. Nothing waits for the device. Keys of 64 bits are
 * compiled by themselves, sort_wide.cu, since one file of all takes twice as long.
 *
 * Values of up to 8 bytes move with their keys; for larger ones indices are sorted and one gather follows (sort_gather.cuh).
 * Cost: as the files say. Source: Adinets and Merrill, Onesweep, 2022; Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort
 * on GPUs, 2017. */
#include "sort_keys.cuh"

uint64_t cuda_sort_scratch(const struct cuda_queue *queue, uint64_t n, size_t key_nbytes, size_t value_nbytes, bool argsort) {
    const uint64_t total = layout_scratch(queue, n, key_nbytes, value_nbytes, argsort).total;
    return key_nbytes == 2 && value_nbytes == 0 && !argsort ? max_u64(total, layout_shorts(queue, n).total) : total;
}

/* Of the kernel whose CTAs have most threads, and as much shared memory as any. */
int cuda_largest_cluster(void) { return largest_cluster((const void *)sort_few_bytes<uint4, BYTE_COPIES>, BYTES_THREADS); }

int cuda_launch_sort(const struct cuda_queue *queue, const struct sort_args *args, void *scratch) {
    switch (upsweep_type_nbytes(args->type)) {
    case 1:
        return sort_keys<uint8_t>(queue, args, scratch);
    case 2:
        return sort_keys<uint16_t>(queue, args, scratch);
    case 4:
        return sort_keys<uint32_t>(queue, args, scratch);
    default:
        return sort_wide_keys(queue, args, scratch);
    }
}
