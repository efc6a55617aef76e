#include "layers/convolution/shape.h"

namespace cortado {

std::string ConvolutionShape::text() const {
  const auto field = [](const char* name, i64 value) { return name + std::to_string(value); };
  return field("mb", mb) + field("ic", ic) + field("ih", ih) + field("iw", iw) + field("oc", oc) + field("oh", oh) +
         field("ow", ow) + field("kh", kh) + field("kw", kw) + field("sh", sh) + field("sw", sw) + field("ph", ph) +
         field("pw", pw) + field("dh", dh) + field("dw", dw) + field("g", g) +
         (precision == Precision::bf16 ? "bf16" : "") + (src == Layout::nchw16c ? "src16" : "") +
         (dst == Layout::nchw16c ? "dst16" : "");
}

}  // namespace cortado
