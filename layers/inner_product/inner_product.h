#pragma once
#include <memory>

#include "core/net/choice.h"
#include "core/net/division.h"
#include "layers/gemm/gemm.h"
#include "layers/inner_product/divided_rows.h"

namespace cortado {

/// Caffe's InnerProduct. The bottom's axes from `axis` on are flattened into K terms, those before into M rows. The top
/// is M x num_output = bottom (M x K) weights^T (K x num_output) + bias. Weights are num_output x K, or K x num_output
/// with `transpose`.
///
/// Each of several ranks holds, if `divided`, the weights of some outputs, or of some inputs. It multiplies all ranks'
/// rows by them (DividedRows). The weights' gradients are then sums over all ranks' rows, and need no exchange. Each
/// rank has the whole bias, adds it to its own rows, and computes its gradient from them.
///
/// In bf16, products may round weights to that as well (MatrixLibrary::Gemm::operands). Divided layers work in float.
class InnerProductLayer : public Layer {
 public:
  using Layer::Layer;
  static bool keeps_bf16(const caffe::LayerParameter& parameter);
  static bool begins_bf16(const caffe::LayerParameter& parameter) { return keeps_bf16(parameter); }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  const Division* division(std::size_t i) const override { return i == 0 ? division_.get() : nullptr; }
  PlanBook plans() const override { return choices_.plans(); }
  std::vector<PlanOption> plan_options() const override { return choices_.options(); }
  void choose_plans(const PlanBook& wanted) override { choices_.want(wanted); }
  std::vector<std::string> refusals() const override { return choices_.refusals(); }
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 private:
  void divide(const Shape& weights);
  i64 inputs() const { return rows_ * terms_; }
  i64 results() const { return rows_ * outputs_; }
  i64 terms_here() const { return divided_ ? divided_->terms_here() : terms_; }
  i64 outputs_here() const { return divided_ ? divided_->outputs_here() : outputs_; }
  i64 rows_here() const { return divided_ ? divided_->most_rows() : rows_; }
  // Products with the weights that this rank holds.
  void multiply_timed(MatrixLibrary::Gemm gemm);
  void multiply_forward(const float* x, float* y, i64 rows);
  void multiply_errors(const float* dy, float* dx, i64 rows);
  void multiply_gradient(const float* dy, const float* x, i64 rows);
  // These take and make floats; nullptr for `dx` means that it is not computed.
  void compute(const float* x, float* y);
  void compute_gradients(const float* dy, const float* x, float* dx);

  int axis_ = 1;
  i64 rows_ = 0, terms_ = 0, outputs_ = 0;
  bool bias_ = true, transpose_ = false;
  Precision precision_ = Precision::fp32;  // of bottom and top
  /// A way to multiply.
  struct ProductPlan {
    std::string refused;
    double estimate = 0;
    Multiplier multiplier = Multiplier::library;
  };
  Choices<ProductPlan> choices_{"product"};
  std::unique_ptr<Division> division_;  // the weights' division; nullptr means that each rank has all
  std::unique_ptr<DividedRows> divided_;
};

}  // namespace cortado
