#pragma once
#include <vector>

#include "comm/collective/collective.h"
#include "comm/topology.h"

namespace cortado {

/// A step of a reduce-scatter on a circulant graph, as one rank sees it. Block numbers wrap round: with p blocks, block
/// b >= p is block b - p.
struct CirculantStep {
  int to, from;                 ///< ranks
  int sent_first, sent_last;    ///< blocks whose partial sums go to `to`
  int added_first, added_last;  ///< blocks that the partial sums from `from` are added to
};

/// A rank's part in a reduce-scatter and an allgather on a circulant graph (Träff, "Optimal, non-pipelined
/// reduce-scatter and allreduce algorithms", 2024). Any number of ranks p takes ceil(log2 p) steps each way and sends
/// (p - 1) / p of the values, no folding.
///
/// Each step has a skip s. Number v sends to v + s the blocks that numbers beyond need, and is left with s blocks. Here
/// numbers go in turn over supernodes. Skips are multiples of the number of supernodes while they can be, so the large
/// early messages stay inside one.
///
/// The allgather takes the steps from the last to the first: blocks `added` go to `from`, blocks `sent` come from `to`.
struct CirculantSchedule {
  CirculantSchedule(const Topology& topology, int rank);
  std::vector<int> owners;  ///< the rank that ends with the sum, by block
  int own;                  ///< this rank's block
  std::vector<CirculantStep> steps;
};

/// The first of `count` values that are in `block`. There are as many blocks as ranks. They are nearly equal, and begin
/// at multiples of 32 values: what a rank computes of its block it computes in the lanes of the whole.
i64 circulant_begin(i64 count, int ranks, int block);

/// The two halves of the allreduce `circulant`, in place. Up to 8 ranks, and for any power of two, all values are added
/// in one order, wherever they lie: with 3, 5, 6 and 7 ranks blocks go to their owners at once, who add in order of
/// numbers. After the first, the rank's own block is the sum over ranks,
/// and the others are undefined. The second gives every rank the others' own blocks. Collective.
void reduce_scatter(const Team& team, const HostValues& values);
void allgather(const Team& team, const HostValues& values);

}  // namespace cortado
