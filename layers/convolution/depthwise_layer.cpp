#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/convolution/convolution.h"

namespace cortado {
namespace {

/// DepthwiseConvolution and ConvolutionDepthwise of Caffe's forks: a Convolution with a group for each channel of the
/// bottom. `group`, if given, is that number; num_output may be left away where it is that too.
class DepthwiseConvolutionLayer : public ConvolutionLayer {
 public:
  using ConvolutionLayer::ConvolutionLayer;
  void setup(const Blobs& bottom, const Blobs& top) override {
    const i64 in = bottom[0]->dim(parameter().convolution_param().axis()), groups = sizes(in).groups;
    if (groups != in)
      bad_config("group is " + std::to_string(groups) +
                     ", but a depthwise convolution has one for each of the bottom's " + std::to_string(in) +
                     " channels",
                 "leave group away, or write type: \"Convolution\"");
    ConvolutionLayer::setup(bottom, top);
  }

 protected:
  Sizes sizes(i64 in) const override {
    const auto& p = parameter().convolution_param();
    return {p.has_group() ? p.group() : in, p.has_num_output() ? p.num_output() : in};
  }
};

}  // namespace

void add_depthwise_convolution(LayerTable& table) {
  table.add<DepthwiseConvolutionLayer>("DepthwiseConvolution");
  table.add<DepthwiseConvolutionLayer>("ConvolutionDepthwise");
}

}  // namespace cortado
