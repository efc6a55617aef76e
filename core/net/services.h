#pragma once
#include "core/data/array_sink.h"
#include "core/data/batch_source.h"
#include "core/net/replicas.h"

namespace cortado {

class LayerTable;
class ShardExchange;

/// A core group, the layer types, files and other ranks: solvers, nets and layers are built on them. All of it is
/// borrowed and outlives its borrowers.
struct Services {
  CoreGroup* group = nullptr;
  const LayerTable* layers = nullptr;
  const SourceOpener* sources = nullptr;  ///< nullptr means that nothing can be read
  const SinkOpener* sinks = nullptr;      ///< nullptr means that nothing can be written
  const Replicas* replicas = nullptr;     ///< nullptr means this process alone
  ShardExchange* shards = nullptr;        ///< among the replicas; nullptr means that layers are whole
};

}  // namespace cortado
