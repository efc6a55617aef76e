#include "layers/all_layers.h"

#include "layers/accuracy/accuracy.h"
#include "layers/batch_norm/batch_norm.h"
#include "layers/cast/cast.h"
#include "layers/concat/concat.h"
#include "layers/convolution/convolution.h"
#include "layers/data/data.h"
#include "layers/dropout/dropout.h"
#include "layers/dummy_data/dummy_data.h"
#include "layers/eltwise/eltwise.h"
#include "layers/hdf5_data/hdf5_data.h"
#include "layers/image_data/image_data.h"
#include "layers/inner_product/inner_product.h"
#include "layers/input/input.h"
#include "layers/lrn/lrn.h"
#include "layers/pooling/pooling.h"
#include "layers/relu/relu.h"
#include "layers/scale/scale.h"
#include "layers/softmax/softmax.h"
#include "layers/softmax_loss/softmax_loss.h"
#include "layers/split/split.h"

namespace cortado {

LayerTable all_layers() {
  LayerTable table;
  table.add<AccuracyLayer>("Accuracy");
  table.add<BatchNormLayer>("BatchNorm");
  table.add<CastLayer>("Cast");
  table.add<ConcatLayer>("Concat");
  table.add<ConvolutionLayer>("Convolution");
  table.add<DataLayer>("Data");
  table.add<DropoutLayer>("Dropout");
  table.add<DummyDataLayer>("DummyData");
  table.add<EltwiseLayer>("Eltwise");
  table.add<Hdf5DataLayer>("HDF5Data");
  table.add<ImageDataLayer>("ImageData");
  table.add<InnerProductLayer>("InnerProduct");
  table.add<InputLayer>("Input");
  table.add<LrnLayer>("LRN");
  table.add<PoolingLayer>("Pooling");
  table.add<ReluLayer>("ReLU");
  table.add<ScaleLayer>("Scale");
  table.add<SoftmaxLayer>("Softmax");
  table.add<SoftmaxLossLayer>("SoftmaxWithLoss");
  table.add<SplitLayer>("Split");
  return table;
}

}  // namespace cortado
