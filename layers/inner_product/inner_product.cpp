#include <memory>

#include "core/formats/caffe.pb.h"
#include "core/net/choice.h"
#include "core/net/division.h"
#include "core/net/layer_table.h"
#include "layers/cast/convert.h"
#include "layers/gemm/gemm.h"
#include "layers/inner_product/divided_rows.h"

namespace cortado {
namespace {

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
  static bool keeps_bf16(const caffe::LayerParameter& parameter) {
    return parameter.inner_product_param().divided() == caffe::InnerProductParameter::NO;
  }

  static bool begins_bf16(const caffe::LayerParameter& parameter) { return keeps_bf16(parameter); }
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().inner_product_param();
    axis_ = bottom[0]->canonical_axis(p.axis());
    terms_ = bottom[0]->count(axis_);
    outputs_ = p.num_output();
    transpose_ = p.transpose();
    bias_ = p.bias_term();
    if (outputs_ < 1) bad_config("num_output must be at least 1");
    const Shape weights = transpose_ ? Shape{terms_, outputs_} : Shape{outputs_, terms_};
    if (p.divided() != caffe::InnerProductParameter::NO) divide(weights);
    if (division_)
      add_shard(*division_, p.weight_filler());
    else
      add_parameter(weights, p.weight_filler());
    if (bias_) add_parameter({outputs_}, p.bias_filler());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->count(axis_) != terms_)
      bad_shape("the weights take " + std::to_string(terms_) + " values, the bottom has shape " +
                to_string(bottom[0]->shape()));
    rows_ = bottom[0]->count(0, axis_);
    precision_ = bottom[0]->precision();
    Shape shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + axis_);
    shape.push_back(outputs_);
    top[0]->reshape(shape, precision_);
    if (divided_) divided_->reshape(rows_);
    const std::string sizes = "m" + std::to_string(rows_here()) + "n" + std::to_string(outputs_here()) + "k" +
                              std::to_string(terms_here()) + (precision_ == Precision::bf16 ? "bf16" : "");
    const auto by = [this](Multiplier multiplier) {
      return [this, multiplier] { return ProductPlan{why_not(multiplier, group()), 0, multiplier}; };
    };
    choices_.choose(0, name(), sizes,
                    {{"library", by(Multiplier::library)}, {"tile_program", by(Multiplier::tile_program)}});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    if (precision_ == Precision::fp32) return compute(bottom[0]->data(), top[0]->mutable_data());
    float *const x = workspace(inputs() + results()), *const y = x + inputs();
    convert(group(), bottom[0]->data<bf16>(), x, inputs());
    compute(x, y);
    convert(group(), y, top[0]->mutable_data<bf16>(), results());
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const bool passes_on = propagate_down[0];
    if (precision_ == Precision::fp32)
      return compute_gradients(top[0]->diff(), bottom[0]->data(), passes_on ? bottom[0]->mutable_diff() : nullptr);
    // The inputs are done with when the gradient of the weights is, which comes first.
    float *const x = workspace(inputs() + results()), *const dy = x + inputs(), *const dx = passes_on ? x : nullptr;
    convert(group(), bottom[0]->data<bf16>(), x, inputs());
    convert(group(), top[0]->diff<bf16>(), dy, results());
    compute_gradients(dy, x, dx);
    if (passes_on) convert(group(), dx, bottom[0]->mutable_diff<bf16>(), inputs());
  }

  const Division* division(std::size_t i) const override { return i == 0 ? division_.get() : nullptr; }
  PlanBook plans() const override { return choices_.plans(); }
  std::vector<PlanOption> plan_options() const override { return choices_.options(); }
  void choose_plans(const PlanBook& wanted) override { choices_.want(wanted); }
  std::vector<std::string> refusals() const override { return choices_.refusals(); }
  Cost cost(const Blobs&, const Blobs&) const override {
    const auto m = static_cast<double>(divided_ ? divided_->all_rows() : rows_);
    const auto n = static_cast<double>(outputs_here()), k = static_cast<double>(terms_here());
    const double flops = 2 * m * n * k, bytes = 4 * (m * k + m * n + n * k);
    return {flops, 2 * flops, bytes, 2 * bytes};
  }

 private:
  void divide(const Shape& weights) {
    const auto& p = parameter().inner_product_param();
    const std::string asked = "divided: " + caffe::InnerProductParameter::Division_Name(p.divided());
    if (p.sub_batches() < 1) bad_config("sub_batches must be at least 1");
    if (run().replicas->groups_of_process() > 1)
      bad_config(asked + " cannot run with several core groups in a process",
                 "start a rank for each core group, or leave out `divided`");
    if (services().shards == nullptr) return;
    ShardExchange& ranks = *services().shards;
    const std::string problem = ranks.why_not(p.codec());
    if (!problem.empty()) bad_config(asked + " cannot run: " + problem);
    if (ranks.size() == 1) return;
    const bool inputs = p.divided() == caffe::InnerProductParameter::INPUTS;
    const i64 divided = inputs ? terms_ : outputs_;
    if (divided < ranks.size())
      bad_config(asked + " cannot run: " + std::to_string(divided) + (inputs ? " inputs" : " outputs") +
                     " are fewer than " + std::to_string(ranks.size()) + " ranks",
                 "use fewer ranks, or leave out `divided`");
    division_ = std::make_unique<Division>(weights, inputs == transpose_ ? 0 : 1, ranks.size());
    divided_ =
        std::make_unique<DividedRows>(ranks, group(), context().workspace, *division_,
                                      DividedRows::Settings{terms_, outputs_, inputs, i64{p.sub_batches()}, p.codec()});
  }

  i64 inputs() const { return rows_ * terms_; }
  i64 results() const { return rows_ * outputs_; }
  i64 terms_here() const { return divided_ ? divided_->terms_here() : terms_; }
  i64 outputs_here() const { return divided_ ? divided_->outputs_here() : outputs_; }
  i64 rows_here() const { return divided_ ? divided_->most_rows() : rows_; }
  // Products with the weights that this rank holds.
  void multiply_timed(MatrixLibrary::Gemm gemm) {
    gemm.operands = precision_;
    run_plan("product", [&] { multiply(group(), choices_.plan(0).multiplier, gemm); });
  }

  void multiply_forward(const float* x, float* y, i64 rows) {
    const i64 terms = terms_here(), outputs = outputs_here();
    multiply_timed(MatrixLibrary::Gemm{false, !transpose_, rows, outputs, terms, 1, x, terms, blobs()[0]->data(),
                                       transpose_ ? outputs : terms, 0, y, outputs});
  }

  void multiply_errors(const float* dy, float* dx, i64 rows) {
    const i64 terms = terms_here(), outputs = outputs_here();
    multiply_timed(MatrixLibrary::Gemm{false, transpose_, rows, terms, outputs, 1, dy, outputs, blobs()[0]->data(),
                                       transpose_ ? outputs : terms, 0, dx, terms});
  }

  void multiply_gradient(const float* dy, const float* x, i64 rows) {
    const i64 terms = terms_here(), outputs = outputs_here();
    if (rows == 0) return;
    const Blob::Sum dw = blobs()[0]->sum_diff();
    const float old = dw.sets ? 0 : 1;
    if (transpose_)
      multiply_timed(
          MatrixLibrary::Gemm{true, false, terms, outputs, rows, 1, x, terms, dy, outputs, old, dw.to, outputs});
    else
      multiply_timed(
          MatrixLibrary::Gemm{true, false, outputs, terms, rows, 1, dy, outputs, x, terms, old, dw.to, terms});
  }

  // These take and make floats; nullptr for `dx` means that it is not computed.
  void compute(const float* x, float* y) {
    if (divided_)
      divided_->forward(x, y,
                        [this](const float* all_x, float* all_y, i64 rows) { multiply_forward(all_x, all_y, rows); });
    else
      multiply_forward(x, y, rows_);
    if (bias_) add_to_columns(group(), blobs()[1]->data(), y, rows_, outputs_);
  }

  void compute_gradients(const float* dy, const float* x, float* dx) {
    const bool learns = param_propagate_down(0);
    if (bias_ && param_propagate_down(1)) sum_columns(group(), dy, rows_, outputs_, blobs()[1]->mutable_diff());
    if (divided_) {
      DividedRows::Gradient gradient;
      if (learns)
        gradient = [this](const float* all_dy, const float* all_x, i64 rows) {
          multiply_gradient(all_dy, all_x, rows);
        };
      return divided_->backward(
          dy, dx, [this](const float* all_dy, float* all_dx, i64 rows) { multiply_errors(all_dy, all_dx, rows); },
          gradient);
    }
    if (learns) multiply_gradient(dy, x, rows_);
    if (dx != nullptr) multiply_errors(dy, dx, rows_);
  }

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

}  // namespace

void add_inner_product(LayerTable& table) { table.add<InnerProductLayer>("InnerProduct"); }

}  // namespace cortado
