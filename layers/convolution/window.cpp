#include "layers/convolution/window.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
/// The fields NAME_h and NAME_w, where they exist.
struct Pair {
  bool has_h = false, has_w = false;
  i64 h = 0, w = 0;
};

class Reader {
 public:
  Reader(std::string where, int axes) : where_(std::move(where)), axes_(axes) {}

  /// A field of one value per axis, none of which is below `least`; `otherwise` where it is not given, unless that is
  /// -1.
  template <class Repeated>
  std::vector<i64> read(const char* name, const Repeated& values, const Pair& pair, i64 otherwise, i64 least) const {
    if (axes_ == 0) return {};
    std::vector<i64> all(values.begin(), values.end());
    if (pair.has_h || pair.has_w) {
      const bool lacks_one = least > 0 && pair.has_h != pair.has_w;
      if (!all.empty() || lacks_one || axes_ != 2)
        throw ConfigError(where_, std::string("give ") + name + " or, for two axes, both " + name + "_h and _w",
                          "not a mixture");
      all = {pair.h, pair.w};
    }
    if (all.empty() && otherwise < 0) throw ConfigError(where_, std::string(name) + " is missing");
    if (all.empty()) all = {otherwise};
    if (all.size() == 1) all.assign(static_cast<std::size_t>(axes_), all[0]);
    if (static_cast<int>(all.size()) != axes_)
      throw ConfigError(where_, std::string(name) + " is given " + std::to_string(all.size()) + " times for " +
                                    std::to_string(axes_) + " axes");
    if (*std::min_element(all.begin(), all.end()) < least)
      throw ConfigError(where_, std::string(name) + " must be at least " + std::to_string(least));
    return all;
  }

 private:
  std::string where_;
  int axes_;
};
}  // namespace

SlidingWindow read_window(const Layer& layer, const caffe::ConvolutionParameter& p, int axes) {
  const Reader reader("layer '" + layer.name() + "'", axes);
  SlidingWindow w;
  w.kernel = reader.read("kernel_size", p.kernel_size(),
                         {p.has_kernel_h(), p.has_kernel_w(), p.kernel_h(), p.kernel_w()}, -1, 1);
  w.stride = reader.read("stride", p.stride(), {p.has_stride_h(), p.has_stride_w(), p.stride_h(), p.stride_w()}, 1, 1);
  w.pad = reader.read("pad", p.pad(), {p.has_pad_h(), p.has_pad_w(), p.pad_h(), p.pad_w()}, 0, 0);
  w.dilation = reader.read("dilation", p.dilation(), {}, 1, 1);
  return w;
}

std::vector<i64> spatial_sizes(const Blob& blob, std::size_t axes) {
  return {blob.shape().end() - static_cast<std::ptrdiff_t>(axes), blob.shape().end()};
}

std::vector<i64> window_outputs(const Layer& layer, const SlidingWindow& window, const Blob& bottom) {
  std::vector<i64> out;
  for (const i64 size : spatial_sizes(bottom, window.axes())) {
    const std::size_t d = out.size();
    out.push_back(window.outputs(d, size));
    if (out[d] < 1)
      throw ShapeError("layer '" + layer.name() + "'", "a kernel of " + std::to_string(window.kernel[d]) +
                                                           " does not fit spatial axis " + std::to_string(d) +
                                                           " of the bottom's shape " + to_string(bottom.shape()));
  }
  return out;
}

void set_planes(ConvolutionShape& s, const SlidingWindow& window, const std::vector<i64>& in,
                const std::vector<i64>& out) {
  if (window.axes() == 0) return;
  const std::size_t w = window.axes() - 1;
  s.iw = in[w], s.ow = out[w];
  s.kw = window.kernel[w], s.sw = window.stride[w], s.pw = window.pad[w], s.dw = window.dilation[w];
  if (window.axes() == 1) return;
  const std::size_t h = w - 1;
  s.ih = in[h], s.oh = out[h];
  s.kh = window.kernel[h], s.sh = window.stride[h], s.ph = window.pad[h], s.dh = window.dilation[h];
}

}  // namespace cortado
