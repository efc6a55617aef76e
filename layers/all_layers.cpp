#include "layers/all_layers.h"

#include "layers/convolution/convolution.h"
#include "layers/inner_product/inner_product.h"
#include "layers/pooling/pooling.h"

namespace cortado {

LayerTable all_layers() {
  LayerTable table;
  table.add<ConvolutionLayer>("Convolution");
  table.add<InnerProductLayer>("InnerProduct");
  table.add<PoolingLayer>("Pooling");
  return table;
}

}  // namespace cortado
