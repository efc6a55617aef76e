#include "parallel_io/convert.h"

#include <cstdio>

#include "app/progress_bar.h"
#include "app/session.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {
/// MNIST's and the digits' values lie in [0, 1), as Caffe's LeNet wants them.
constexpr double unit_scale = 0.00390625;

ImageOptions image_options(const Options::Convert& c) {
  ImageOptions images;
  images.rgb = c.rgb;
  images.mean = c.mean == "pixel"     ? ImageOptions::Mean::pixel
                : c.mean == "channel" ? ImageOptions::Mean::channel
                                      : ImageOptions::Mean::none;
  if (!c.resize.empty()) {
    char rest = 0;
    if (std::sscanf(c.resize.c_str(), "%dx%d%c", &images.width, &images.height, &rest) != 2 || images.width < 1 ||
        images.height < 1)
      throw ConfigError("command line", "--resize is '" + c.resize + "'", "give WIDTHxHEIGHT, such as 227x227");
  }
  return images;
}
}  // namespace

int convert(const Options& options) {
  const auto& c = options.convert;
  ConvertOptions with;
  with.to = c.to;
  with.bytes = c.type == "uint8";
  if (with.bytes && c.scale != 0) throw ConfigError("command line", "--scale needs --type float");
  const bool grey = c.kind == "mnist" || c.kind == "digits";
  with.scale = static_cast<float>(c.scale != 0 ? c.scale : grey && !with.bytes ? unit_scale : 1);
  ProgressBar bar("converting");
  with.progress = [&](i64 done, i64 total) { bar.show(done, total); };
  if (c.kind == "mnist") {
    convert_mnist(c.from, with);
  } else if (c.kind == "digits") {
    DigitOptions digits;
    if (c.train > 0) digits.train = c.train;
    if (c.test > 0) digits.test = c.test;
    digits.seed = c.seed;
    digits.idx = c.idx;
    convert_digits(digits, with);
  } else {
    convert_images(c.from, image_options(c), with);
  }
  CORTADO_LOG(info) << "Wrote " << c.to;
  return 0;
}

}  // namespace cortado
