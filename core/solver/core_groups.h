#pragma once
#include <functional>

#include "core/solver/solver.h"

namespace cortado {

/// Trains on all core groups of a processor (swCaffe section V-A, figure 5): each is a replica that trains on its part
/// of the process's batch, on a thread of its own. All add up their gradients, each a part; core group 0 exchanges the
/// sum with other processes, and the others help it to add (SharedAddition), then copy the result. An exchange that
/// sends gradients while backward goes on gets the sums of layers as soon as all core groups have brought theirs.
///
/// If `options.host_sums` is set, gradients meet in host memory instead while backward goes on, layer by layer in the
/// order in which core groups bring them, and each core group takes the sums back as soon as all have come (TRL,
/// section III): nothing to wait for after backward but the first layers, and one buffer more, on the host, where that
/// is not the core groups' own memory. With several processes core group 0 takes them, for the exchange, and the others
/// copy the end result. Sums of two are the same bits as otherwise; with more, the order of additions differs from run
/// to run.
///
/// Calls train(options) once per core group, with `options` made for it: its core group, the replicas of all processes
/// (rank = process rank x core groups + index), and the exchange. `options.group` is core group 0. With one core group
/// `options` are passed on as they are. Throws what the first core group that failed threw.
void train_on_core_groups(Processor& processor, const SolverOptions& options,
                          const std::function<void(const SolverOptions&)>& train);

/// Queues y += x for n values of cluster memory: sums of gradients.
void add_values(CoreGroup& group, const float* x, float* y, i64 n);

/// Divides the batches of a net's data layers (Layer::divide_batch) by `parts`. Throws ConfigError naming the layer
/// whose batch cannot be divided.
void divide_batches(caffe::NetParameter& net, i64 parts, const LayerTable& layers);

}  // namespace cortado
