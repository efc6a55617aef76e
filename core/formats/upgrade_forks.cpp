#include "core/formats/upgrade_forks.h"

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

[[noreturn]] void bad(const std::string& origin, const caffe::LayerParameter& layer, const std::string& what,
                      const std::string& advice) {
  throw ConfigError(origin + ": layer '" + layer.name() + "'", what, advice);
}

void upgrade_pooling(caffe::LayerParameter& layer, const std::string& origin) {
  if (!layer.pooling_param().has_ceil_mode()) return;
  auto& pooling = *layer.mutable_pooling_param();
  const auto mode = pooling.ceil_mode() ? caffe::PoolingParameter::CEIL : caffe::PoolingParameter::FLOOR;
  if (pooling.has_round_mode() && pooling.round_mode() != mode)
    bad(origin, layer, "ceil_mode and round_mode contradict each other", "keep round_mode");
  pooling.set_round_mode(mode);
  pooling.clear_ceil_mode();
}

void upgrade_convolution(caffe::LayerParameter& layer, const std::string& origin) {
  const auto& given = layer.convolution_param();
  const bool has_sides = given.has_hole_h() || given.has_hole_w();
  if (given.hole_size() == 0 && !has_sides) return;
  if (given.dilation_size() > 0 || (given.hole_size() > 0 && has_sides))
    bad(origin, layer, "says its dilation twice", "keep dilation");
  auto& convolution = *layer.mutable_convolution_param();
  *convolution.mutable_dilation() = convolution.hole();
  if (has_sides) {
    convolution.add_dilation(given.has_hole_h() ? given.hole_h() : 1);
    convolution.add_dilation(given.has_hole_w() ? given.hole_w() : 1);
  }
  convolution.clear_hole();
  convolution.clear_hole_h();
  convolution.clear_hole_w();
}

void upgrade_crop(caffe::LayerParameter& layer, const std::string& origin) {
  const auto& given = layer.transform_param();
  if (!given.has_crop_h() && !given.has_crop_w()) return;
  if (given.crop_h() != given.crop_w())
    bad(origin, layer, "crop_h and crop_w differ, but crops are square here", "give crop_size, or resize images");
  if (given.has_crop_size() && given.crop_size() != given.crop_h())
    bad(origin, layer, "crop_size and crop_h contradict each other", "keep crop_size");
  auto& transform = *layer.mutable_transform_param();
  transform.set_crop_size(given.crop_h());
  transform.clear_crop_h();
  transform.clear_crop_w();
}

}  // namespace

void upgrade_fork_words(caffe::LayerParameter& layer, const std::string& origin) {
  upgrade_pooling(layer, origin);
  upgrade_convolution(layer, origin);
  upgrade_crop(layer, origin);
}

}  // namespace cortado
