#include "layers/all_layers.h"

namespace cortado {

LayerTable all_layers() {
  LayerTable table;
  return table;
}

}  // namespace cortado
