#include "layers/inner_product/inner_product.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void InnerProductLayer::setup(const Blobs& bottom, const Blobs&) {
  const auto& p = parameter().inner_product_param();
  axis_ = bottom[0]->canonical_axis(p.axis());
  terms_ = bottom[0]->count(axis_);
  outputs_ = p.num_output();
  transpose_ = p.transpose();
  bias_ = p.bias_term();
  if (outputs_ < 1) bad_config("num_output must be at least 1");
  add_parameter(transpose_ ? Shape{terms_, outputs_} : Shape{outputs_, terms_}, p.weight_filler());
  if (bias_) add_parameter({outputs_}, p.bias_filler());
}

void InnerProductLayer::reshape(const Blobs& bottom, const Blobs& top) {
  if (bottom[0]->count(axis_) != terms_)
    bad_shape("the weights take " + std::to_string(terms_) + " values, the bottom has shape " +
              to_string(bottom[0]->shape()));
  rows_ = bottom[0]->count(0, axis_);
  Shape shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + axis_);
  shape.push_back(outputs_);
  top[0]->reshape(shape);
  multiplier_ = tile_program_wanted_ ? Multiplier::tile_program : preferred_multiplier(group());
}

void InnerProductLayer::choose_plans(const PlanBook& wanted) {
  const auto found = wanted.find("product");
  tile_program_wanted_ = found != wanted.end() && found->second == "tile_program";
}

PlanBook InnerProductLayer::plans() const {
  return {{"product", multiplier_ == Multiplier::library ? "library" : "tile_program"}};
}

std::vector<PlanOption> InnerProductLayer::plan_options() const {
  const std::string shape = "m" + std::to_string(rows_) + "n" + std::to_string(outputs_) + "k" + std::to_string(terms_);
  return {{"product", shape, "library", why_not(Multiplier::library, group()), 0},
          {"product", shape, "tile_program", "", 0}};
}

void InnerProductLayer::multiply_timed(const MatrixLibrary::Gemm& gemm) {
  run_plan("product", [&] { multiply(group(), multiplier_, gemm); });
}

void InnerProductLayer::forward(const Blobs& bottom, const Blobs& top) {
  const i64 ld_weights = transpose_ ? outputs_ : terms_;
  multiply_timed(MatrixLibrary::Gemm{false, !transpose_, rows_, outputs_, terms_, 1, bottom[0]->data(), terms_,
                                     blobs()[0]->data(), ld_weights, 0, top[0]->mutable_data(), outputs_});
  if (bias_) add_to_columns(group(), blobs()[1]->data(), top[0]->mutable_data(), rows_, outputs_);
}

void InnerProductLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  const float* const dy = top[0]->diff();
  if (param_propagate_down(0)) {
    float* const dw = blobs()[0]->mutable_diff();
    const float* const x = bottom[0]->data();
    if (transpose_)
      multiply_timed(
          MatrixLibrary::Gemm{true, false, terms_, outputs_, rows_, 1, x, terms_, dy, outputs_, 1, dw, outputs_});
    else
      multiply_timed(
          MatrixLibrary::Gemm{true, false, outputs_, terms_, rows_, 1, dy, outputs_, x, terms_, 1, dw, terms_});
  }
  if (bias_ && param_propagate_down(1)) sum_to_bias(group(), dy, rows_, outputs_, 1, blobs()[1]->mutable_diff());
  if (propagate_down[0])
    multiply_timed(MatrixLibrary::Gemm{false, transpose_, rows_, terms_, outputs_, 1, dy, outputs_, blobs()[0]->data(),
                                       transpose_ ? outputs_ : terms_, 0, bottom[0]->mutable_diff(), terms_});
}

Layer::Cost InnerProductLayer::cost(const Blobs&, const Blobs&) const {
  const auto m = static_cast<double>(rows_), n = static_cast<double>(outputs_), k = static_cast<double>(terms_);
  const double flops = 2 * m * n * k, bytes = 4 * (m * k + m * n + n * k);
  return {flops, 2 * flops, bytes, 2 * bytes};
}

}  // namespace cortado
