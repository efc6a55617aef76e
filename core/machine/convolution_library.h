#pragma once
#include <memory>
#include <string>

#include "core/base/types.h"

namespace cortado {

/// Two-dimensional convolutions of a vendor library, on floats in planes in cluster memory, in order with the compute
/// stream. One thread uses it.
class ConvolutionLibrary {
 public:
  virtual ~ConvolutionLibrary() = default;

  /// x is mb x ic x ih x iw, w oc x (ic/g) x kh x kw, y mb x oc x oh x ow; dilation 1 means dense.
  struct Shape {
    i64 mb, ic, ih, iw, oc, oh, ow, g;
    i64 kh, kw, sh, sw, ph, pw, dh, dw;
  };
  /// The product's result and operands: y of x and w, dw of x and dy, dx of dy and w.
  enum class Product { forward, weight_gradient, input_gradient };
  /// Plain sums, or Winograd's of 3 x 3 kernels, with fewer products and errors about ten times as large.
  enum class Method { plain, winograd };

  /// One product of one shape, by an algorithm that gives the same bits in every run.
  class Convolution {
   public:
    virtual ~Convolution() = default;
    virtual i64 workspace_bytes() const = 0;
    virtual std::string algorithm() const = 0;  ///< the library's number, and how it multiplies, for people
    /// Queues result = product + (adds ? result : 0). `x_or_dy` is dy for the input gradient, `w_or_dy` is dy for the
    /// weight gradient.
    virtual void run(const float* x_or_dy, const float* w_or_dy, float* result, bool adds, void* workspace) = 0;
  };

  virtual std::string name() const = 0;  ///< with its version
  /// The product's convolution by the quickest algorithm of a method, as the library reckons, or the next after
  /// `quicker` others; nullptr where it has none, and `why` says so.
  virtual std::unique_ptr<Convolution> prepare(const Shape& shape, Product product, Method method, int quicker,
                                               std::string& why) = 0;
};

}  // namespace cortado
