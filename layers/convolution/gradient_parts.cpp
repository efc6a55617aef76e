#include "layers/convolution/gradient_parts.h"

#include <algorithm>
#include <numeric>

namespace cortado {
namespace {

AxisPart part_of(i64 first, i64 inputs, i64 kernel, i64 stride, i64 pad, i64 dilation) {
  // Kernel position a meets input i at output (i + pad - a dilation) / stride, if that divides.
  const i64 common = std::gcd(dilation, stride), step = stride / common,
            outputs = (inputs - first + stride - 1) / stride;
  i64 lowest = 0;
  while (lowest < step && (first + pad - lowest * dilation) % stride != 0) ++lowest;
  if (lowest == step || lowest >= kernel || outputs <= 0) return {{0, 1, 0}, outputs, 0, 1};
  const i64 count = (kernel - lowest + step - 1) / step, of_lowest = (first + pad - lowest * dilation) / stride;
  return {{lowest + (count - 1) * step, step, count},
          outputs,
          (count - 1) * (dilation / common) - of_lowest,
          dilation / common};
}

}  // namespace

ConvolutionShape GradientPart::shape(const ConvolutionShape& s) const {
  ConvolutionShape t = s;
  std::swap(t.ic, t.oc);
  std::swap(t.src, t.dst);
  t.ih = s.oh, t.iw = s.ow, t.oh = y.outputs, t.ow = x.outputs;
  t.kh = y.kernel.count, t.kw = x.kernel.count;
  t.sh = t.sw = 1;
  t.ph = y.pad, t.pw = x.pad;
  t.dh = y.dilation, t.dw = x.dilation;
  return t;
}

std::vector<GradientPart> gradient_parts(const ConvolutionShape& s) {
  std::vector<GradientPart> parts;
  for (i64 row = 0; row < std::min(s.sh, s.ih); ++row)
    for (i64 col = 0; col < std::min(s.sw, s.iw); ++col)
      parts.push_back(
          {part_of(row, s.ih, s.kh, s.sh, s.ph, s.dh), part_of(col, s.iw, s.kw, s.sw, s.pw, s.dw), row * s.iw + col});
  return parts;
}

bool leave_gaps(const std::vector<GradientPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty(); });
}

}  // namespace cortado
