#include <map>

#include "core/formats/foreign_words.h"

namespace cortado {
namespace {
const char* const scaled = "write BatchNorm and, behind it, Scale with bias_term: true";
const char* const two_data = "write two Data layers, for images and for labels (docs/use/data.md)";
const char* const clips_as_hdf5 = "convert clips to HDF5 (channels x length x height x width each), and write HDF5Data";
const char* const no_boxes = "boxes are not computed here: ";
const char* const warped = "images are not distorted here: convert them distorted, and write Data";

/// Caffe's forks' types, and names that a layer has elsewhere.
const std::map<std::string, std::string>& types() {
  static const std::map<std::string, std::string> all = {
      {"Python",
       "the command line has no Python: train and score it by the Python module (docs/use/python.md), express it by "
       "other layers, or " +
           end_of_net()},
      // Written in another way.
      {"BN", scaled},
      {"CuDNNBatchNorm", scaled},
      {"BatchNormalization", scaled},
      {"BatchNormScale", scaled},
      {"InstanceNorm", "write MVN and, behind it, Scale with bias_term: true"},
      {"SyncBN", "write BatchNorm with batch_norm_param { synchronised: true } and, behind it, Scale"},
      {"ChannelwiseScale", "write Reshape of the factors with shape { dim: 0 dim: 0 }, and Scale with axis: 0"},
      {"LeakyReLU", "write ReLU with negative_slope"},
      {"SeLu", "write ELU with alpha: 1.67326 and, behind it, Power with scale: 1.0507"},
      {"SELU", "write ELU with alpha: 1.67326 and, behind it, Power with scale: 1.0507"},
      {"DepthwiseConv", "write DepthwiseConvolution"},
      {"ConvolutionRistretto", "write Convolution, without quantization_param"},
      {"FcRistretto", "write InnerProduct, without quantization_param"},
      {"DeconvolutionRistretto", "write Deconvolution, without quantization_param"},
      {"LRNRistretto", "write LRN, without quantization_param"},
      {"Convolution3D", "write Convolution with kernel_size, stride and pad thrice: depth, height, width"},
      {"NdConvolution", "write Convolution with kernel_size, stride and pad for each axis"},
      {"Deconvolution3D", "write Deconvolution with kernel_size, stride and pad thrice: depth, height, width"},
      {"Pooling3D", "pooling has two axes here: write Convolution with kernel_size and stride thrice"},
      {"NdPooling", "pooling has two axes here: write Convolution with kernel_size and stride for each axis"},
      {"SpatialDropout", "write Dropout"},
      {"L1Loss", "write Eltwise with coeff: 1 coeff: -1, and Reduction with operation: ASUM and loss_weight"},
      {"L2Loss", "write EuclideanLoss"},
      {"SoftmaxLoss", "write SoftmaxWithLoss"},
      {"SoftmaxWithLossOHEM", "write SoftmaxWithLoss"},
      {"LabelSmoothing", "write InfogainLoss with a matrix of 1 - e and e / (classes - 1)"},
      {"WeightedSoftmaxWithLoss", "write InfogainLoss with the classes' weights on its matrix's diagonal"},
      {"SegAccuracy", "write Accuracy with accuracy_param { axis: 1 ignore_label: ... }"},
      {"BatchReindexing", "write BatchReindex"},
      {"CuDNNConvolution", "write Convolution"},
      {"CuDNNPooling", "write Pooling"},
      {"CuDNNReLU", "write ReLU"},
      {"CuDNNDropout", "write Dropout"},
      {"CuDNNLRN", "write LRN"},
      {"LSTMv2", "write LSTM"},
      {"Lstm", "write LSTM"},
      {"Conv", "write Convolution"},
      {"Conv2D", "write Convolution"},
      {"Dense", "write InnerProduct"},
      {"Linear", "write InnerProduct"},
      {"FullyConnected", "write InnerProduct"},
      {"MaxPooling", "write Pooling with pool: MAX"},
      {"AveragePooling", "write Pooling with pool: AVE"},
      {"GlobalAveragePooling", "write Pooling with pool: AVE and global_pooling: true"},
      {"Add", "write Eltwise with operation: SUM"},
      {"Concatenate", "write Concat"},
      {"Mul", "write Eltwise with operation: PROD"},
      {"Squeeze", "write Reshape with reshape_param"},
      {"Pad", "write pad in the convolution or pooling behind it"},
      {"MergeCrop", "write Crop and, behind it, Concat"},
      {"ResizeBilinear", "write Interp with interp_param { height: ... width: ... }"},
      {"ResizeNearestNeighbor", "write Upsample with upsample_param { scale: ... }"},
      {"Activation", "write its function as type, such as ReLU"},
      // Data.
      {"DenseImageData", two_data + std::string(", or ImageData whose list names an image as label")},
      {"ImageSegData", two_data},
      {"ImageLabelData", two_data},
      {"ImageLabelmapData", two_data},
      {"AnnotatedData", "boxes are not read here: convert images to LMDB and boxes to HDF5"},
      {"VideoData", clips_as_hdf5},
      {"VideoSegmentationData", clips_as_hdf5},
      {"CPMData", warped},
      {"DataAugmentation", warped},
      {"Flip", "write mirror: true in transform_param"},
      // Of detection.
      {"PriorBoxClustered", no_boxes + end_of_net()},
      {"DetectionOutput", no_boxes + end_of_net()},
      {"DetectionEvaluate", no_boxes + end_of_net()},
      {"MultiBoxLoss", no_boxes + end_of_net()},
      {"EvalDetection", no_boxes + end_of_net()},
      {"RegionLoss", no_boxes + end_of_net()},
      {"Region", no_boxes + end_of_net()},
      {"Proposal", no_boxes + end_of_net()},
      {"ROIPooling", no_boxes + end_of_net()},
      {"ROIAlign", no_boxes + end_of_net()},
      {"PSROIPooling", no_boxes + end_of_net()},
      {"BoxAnnotatorOHEM", no_boxes + end_of_net()},
      {"DetectNetTransformation", no_boxes + end_of_net()},
  };
  return all;
}
}  // namespace

std::string foreign_type(const std::string& type) {
  const auto found = types().find(type);
  return found == types().end() ? "" : found->second;
}

std::string end_of_net() {
  return "let the net end before it and work on the values that HDF5Output or cortado extract writes";
}

}  // namespace cortado
