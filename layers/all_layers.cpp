#include "layers/all_layers.h"

#include "layers/accuracy/accuracy.h"
#include "layers/arg_max/arg_max.h"
#include "layers/axpy/axpy.h"
#include "layers/batch_norm/batch_norm.h"
#include "layers/batch_reindex/batch_reindex.h"
#include "layers/bias/bias.h"
#include "layers/cast/cast.h"
#include "layers/concat/concat.h"
#include "layers/contrastive_loss/contrastive_loss.h"
#include "layers/convolution/convolution.h"
#include "layers/convolution/im2col.h"
#include "layers/crop/crop.h"
#include "layers/data/data.h"
#include "layers/dropout/dropout.h"
#include "layers/dummy_data/dummy_data.h"
#include "layers/elementwise/elementwise.h"
#include "layers/eltwise/eltwise.h"
#include "layers/embed/embed.h"
#include "layers/euclidean_loss/euclidean_loss.h"
#include "layers/filter/filter.h"
#include "layers/hdf5_data/hdf5_data.h"
#include "layers/hdf5_output/hdf5_output.h"
#include "layers/image_data/image_data.h"
#include "layers/infogain_loss/infogain_loss.h"
#include "layers/inner_product/inner_product.h"
#include "layers/input/input.h"
#include "layers/interp/interp.h"
#include "layers/label_loss/label_loss.h"
#include "layers/lrn/lrn.h"
#include "layers/lstm_unit/lstm_unit.h"
#include "layers/memory_data/memory_data.h"
#include "layers/mvn/mvn.h"
#include "layers/normalize/normalize.h"
#include "layers/parameter/parameter.h"
#include "layers/permute/permute.h"
#include "layers/pooling/pooling.h"
#include "layers/prelu/prelu.h"
#include "layers/prior_box/prior_box.h"
#include "layers/recurrent/recurrent.h"
#include "layers/reduction/reduction.h"
#include "layers/relu/relu.h"
#include "layers/reorder/reorder.h"
#include "layers/reshape/reshape.h"
#include "layers/scale/scale.h"
#include "layers/shuffle_channel/shuffle_channel.h"
#include "layers/sigmoid_cross_entropy_loss/sigmoid_cross_entropy_loss.h"
#include "layers/silence/silence.h"
#include "layers/slice/slice.h"
#include "layers/softmax/softmax.h"
#include "layers/softmax_loss/softmax_loss.h"
#include "layers/split/split.h"
#include "layers/spp/spp.h"
#include "layers/tile/tile.h"
#include "layers/upsample/upsample.h"
#include "layers/window_data/window_data.h"

namespace cortado {

LayerTable all_layers() {
  LayerTable table;
  table.add<ElementwiseLayer<AbsValFunctions>>("AbsVal");
  table.add<AccuracyLayer>("Accuracy");
  table.add<ArgMaxLayer>("ArgMax");
  table.add<AxpyLayer>("Axpy");
  table.add<BatchNormLayer>("BatchNorm");
  table.add<BatchReindexLayer>("BatchReindex");
  table.add<BiasLayer>("Bias");
  table.add<ElementwiseLayer<BnllFunctions>>("BNLL");
  table.add<CastLayer>("Cast");
  table.add<ElementwiseLayer<ClipFunctions>>("Clip");
  table.add<ConcatLayer>("Concat");
  table.add<ContrastiveLossLayer>("ContrastiveLoss");
  table.add<ConvolutionLayer>("Convolution");
  table.add<DepthwiseConvolutionLayer>("ConvolutionDepthwise");
  table.add<CropLayer>("Crop");
  table.add<DataLayer>("Data");
  table.add<DeconvolutionLayer>("Deconvolution");
  table.add<DepthwiseConvolutionLayer>("DepthwiseConvolution");
  table.add<DropoutLayer>("Dropout");
  table.add<DummyDataLayer>("DummyData");
  table.add<EltwiseLayer>("Eltwise");
  table.add<ElementwiseLayer<EluFunctions>>("ELU");
  table.add<EmbedLayer>("Embed");
  table.add<EuclideanLossLayer>("EuclideanLoss");
  table.add<ElementwiseLayer<ExpFunctions>>("Exp");
  table.add<FilterLayer>("Filter");
  table.add<FlattenLayer>("Flatten");
  table.add<Hdf5DataLayer>("HDF5Data");
  table.add<Hdf5OutputLayer>("HDF5Output");
  table.add<LabelLossLayer<HingeTerms>>("HingeLoss");
  table.add<Im2colLayer>("Im2col");
  table.add<ImageDataLayer>("ImageData");
  table.add<InfogainLossLayer>("InfogainLoss");
  table.add<InnerProductLayer>("InnerProduct");
  table.add<InputLayer>("Input");
  table.add<InterpLayer>("Interp");
  table.add<ElementwiseLayer<LogFunctions>>("Log");
  table.add<LrnLayer>("LRN");
  table.add<LstmLayer>("LSTM");
  table.add<LstmUnitLayer>("LSTMUnit");
  table.add<MemoryDataLayer>("MemoryData");
  table.add<LabelLossLayer<LogarithmTerms>>("MultinomialLogisticLoss");
  table.add<MvnLayer>("MVN");
  table.add<NormalizeLayer>("Normalize");
  table.add<ParameterLayer>("Parameter");
  table.add<PermuteLayer>("Permute");
  table.add<PoolingLayer>("Pooling");
  table.add<ElementwiseLayer<PowerFunctions>>("Power");
  table.add<PReluLayer>("PReLU");
  table.add<PriorBoxLayer>("PriorBox");
  table.add<ReductionLayer>("Reduction");
  table.add<ReluLayer>("ReLU");
  table.add<ElementwiseLayer<Relu6Functions>>("ReLU6");
  table.add<ReorderLayer>("Reorder");
  table.add<ReshapeLayer>("Reshape");
  table.add<RnnLayer>("RNN");
  table.add<ScaleLayer>("Scale");
  table.add<ShuffleChannelLayer>("ShuffleChannel");
  table.add<ElementwiseLayer<SigmoidFunctions>>("Sigmoid");
  table.add<SigmoidCrossEntropyLossLayer>("SigmoidCrossEntropyLoss");
  table.add<SilenceLayer>("Silence");
  table.add<SliceLayer>("Slice");
  table.add<SoftmaxLayer>("Softmax");
  table.add<SoftmaxLossLayer>("SoftmaxWithLoss");
  table.add<SplitLayer>("Split");
  table.add<SppLayer>("SPP");
  table.add<ElementwiseLayer<SwishFunctions>>("Swish");
  table.add<ElementwiseLayer<TanhFunctions>>("TanH");
  table.add<ElementwiseLayer<ThresholdFunctions>>("Threshold");
  table.add<TileLayer>("Tile");
  table.add<UpsampleLayer>("Upsample");
  table.add<WindowDataLayer>("WindowData");
  return table;
}

}  // namespace cortado
