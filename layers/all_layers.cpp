#include "layers/all_layers.h"

#include "layers/pooling/pooling.h"

namespace cortado {

LayerTable all_layers() {
  LayerTable table;
  table.add<PoolingLayer>("Pooling");
  return table;
}

}  // namespace cortado
