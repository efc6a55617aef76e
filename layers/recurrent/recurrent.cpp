#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/elementwise/map.h"
#include "layers/gemm/gemm.h"
#include "layers/lstm_unit/cell.h"
#include "layers/split/programs.h"

namespace cortado {
namespace {
std::size_t float_bytes(i64 count) { return static_cast<std::size_t>(count) * sizeof(float); }

/// The common part of Caffe's RNN and LSTM.
///
/// Bottoms are
/// - values of N sequences at T times, T x N x ...;
/// - `cont` (T x N), 0 where a sequence begins anew and 1 where it goes on;
/// - optionally values that stay the same over time, N x ...;
/// - with expose_hidden, the hidden states (1 x N x num_output each) before the first time.
/// The top is T x N x num_output; with expose_hidden, further tops are the hidden states after the last time. Without
/// it, a pass begins with the last pass's final states, and gradients end at a pass's beginning. Snapshots do not keep
/// these states. All times' products with inputs are one product.
class RecurrentLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override {
    const int given = exposes() ? states() : 0;
    return {2 + given, 3 + given};
  }

  Arity tops() const override {
    const int given = exposes() ? states() : 0;
    return {1 + given, 1 + given};
  }

  bool allows_backward_to(std::size_t i) const override { return i != 1; }
  std::string why_runs_once() const override {
    return exposes() ? "" : "it begins with the states in which its last forward ended";
  }
  void setup(const Blobs& bottom, const Blobs&) override {
    const auto& p = parameter().recurrent_param();
    if (p.num_output() < 1) bad_config("num_output must be at least 1");
    has_static_ = static_cast<int>(bottom.size()) == bottoms().max;
    if (bottom[0]->axes() < 2) bad_shape("expects T x N x ..., the bottom has shape " + to_string(bottom[0]->shape()));
    const i64 sums = gates() * width();
    add_parameter({sums, bottom[0]->count(2)}, p.weight_filler());
    add_parameter({sums}, p.bias_filler());
    if (has_static_) add_parameter({sums, bottom[2]->count(1)}, p.weight_filler());
    add_parameter({sums, width()}, p.weight_filler());
    add_output_parameters();
    for (auto* blob : {&sums_, &recurred_, &scratch_}) *blob = std::make_unique<Blob>(group());
    for (int i = 0; i < states(); ++i) {
      states_.push_back(std::make_unique<Blob>(group()));
      next_states_.push_back(std::make_unique<Blob>(group()));
    }
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    times_ = bottom[0]->dim(0);
    sequences_ = bottom[0]->dim(1);
    if (bottom[0]->count(2) != blobs()[0]->dim(1))
      bad_shape("expects " + std::to_string(blobs()[0]->dim(1)) + " values per time, the bottom has shape " +
                to_string(bottom[0]->shape()));
    if (bottom[1]->shape() != Shape{times_, sequences_})
      bad_shape("the second bottom must have one value per time and sequence, it has shape " +
                to_string(bottom[1]->shape()));
    if (has_static_ && (bottom[2]->dim(0) != sequences_ || bottom[2]->count(1) != blobs()[2]->dim(1)))
      bad_shape("the static input has shape " + to_string(bottom[2]->shape()) + " for " + std::to_string(sequences_) +
                " sequences");
    const Shape state = {1, sequences_, width()};
    for (int i = 0; i < states(); ++i) {
      const auto s = static_cast<std::size_t>(i);
      states_[s]->reshape(state);
      next_states_[s]->reshape(state);
      if (!exposes()) continue;
      if (bottom[first_state() + s]->shape() != state)
        bad_shape("a hidden state must have shape " + to_string(state) + ", it has " +
                  to_string(bottom[first_state() + s]->shape()));
      top[1 + s]->reshape(state);
    }
    top[0]->reshape({times_, sequences_, width()});
    sums_->reshape({times_, sequences_, gates() * width()});
    recurred_->reshape({times_, sequences_, width()});
    scratch_->reshape({sequences_, gates() * width()});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    cont_ = bottom[1]->data();
    for (std::size_t s = 0; s < states_.size(); ++s) {
      if (exposes())
        group().copy(states_[s]->mutable_data(), bottom[first_state() + s]->data(), float_bytes(step()));
      else
        states_[s].swap(next_states_[s]);
    }
    times_weights(bottom[0]->data(), *blobs()[0], rows(), sums_->mutable_data(), false);
    add_to_columns(group(), blobs()[1]->data(), sums_->mutable_data(), rows(), gates() * width());
    if (has_static_) {
      times_weights(bottom[2]->data(), *blobs()[2], sequences_, scratch_->mutable_data(), false);
      for (i64 t = 0; t < times_; ++t) {
        float* const here = sums_->mutable_data() + t * gates() * step();
        elementwise(group(), gates() * step(), AddUp{}, from(here, scratch_->data()), to(here));
      }
    }
    run_forward(top);
    for (std::size_t s = 0; exposes() && s < states_.size(); ++s)
      group().copy(top[1 + s]->mutable_data(), next_states_[s]->data(), float_bytes(step()));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    cont_ = bottom[1]->data();
    for (std::size_t s = 0; s < states_.size(); ++s) {
      if (exposes())
        group().copy(next_states_[s]->mutable_diff(), top[1 + s]->diff(), float_bytes(step()));
      else
        next_states_[s]->zero_diff();
    }
    run_backward(top);
    const float* const dsums = sums_->data();
    add_weight_gradient(0, dsums, bottom[0]->data(), rows());
    add_bias_gradient(1, dsums);
    add_weight_gradient(recurrent_weights(), dsums, recurred_->data(), rows());
    if (propagate_down[0]) back_through(dsums, *blobs()[0], rows(), bottom[0]->mutable_diff());
    if (has_static_) {
      group().zero(scratch_->mutable_data(), float_bytes(gates() * step()));
      sum_columns(group(), dsums, times_, gates() * step(), scratch_->mutable_data());
      add_weight_gradient(2, scratch_->data(), bottom[2]->data(), sequences_);
      if (propagate_down[2]) back_through(scratch_->data(), *blobs()[2], sequences_, bottom[2]->mutable_diff());
    }
    for (std::size_t s = 0; exposes() && s < states_.size(); ++s)
      if (propagate_down[first_state() + s])
        group().copy(bottom[first_state() + s]->mutable_diff(), states_[s]->diff(), float_bytes(step()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    double weights = 0;
    for (const auto& b : blobs()) weights += b->axes() == 2 ? static_cast<double>(b->count()) : 0;
    const double flops = 2 * static_cast<double>(rows()) * weights;
    const double bytes = 4 * (static_cast<double>(bottom[0]->count() + 6 * sums_->count()) + weights);
    return {flops, 2 * flops, bytes, 2 * bytes};
  }

 protected:
  virtual int states() const = 0;  ///< number of hidden states: h, and c
  virtual int gates() const = 0;   ///< values of the sums for one of the output
  virtual void add_output_parameters() {}
  /// Computes all times, once sums_ has the inputs' part and states_ holds the states before the first time. Fills the
  /// top and next_states_.
  virtual void run_forward(const Blobs& top) = 0;
  /// Computes all times in reverse: sums_ becomes its gradient, and next_states_' gradients give those of states_.
  virtual void run_backward(const Blobs& top) = 0;
  i64 width() const { return parameter().recurrent_param().num_output(); }

  i64 rows() const { return times_ * sequences_; }
  i64 step() const { return sequences_ * width(); }  ///< values of a state
  /// Queues y (m x n) = a (m x k) w^T (n x k), or with `adds`, y += that.
  void times_weights(const float* a, const Blob& w, i64 m, float* y, bool adds) {
    const i64 n = w.dim(0), k = w.dim(1);
    multiply(group(), preferred_multiplier(group()),
             MatrixLibrary::Gemm{false, true, m, n, k, 1, a, k, w.data(), k, adds ? 1.0f : 0.0f, y, n});
  }

  /// Queues dx (m x k) = dy (m x n) w (n x k).
  void back_through(const float* dy, const Blob& w, i64 m, float* dx) {
    const i64 n = w.dim(0), k = w.dim(1);
    multiply(group(), preferred_multiplier(group()),
             MatrixLibrary::Gemm{false, false, m, k, n, 1, dy, n, w.data(), k, 0, dx, k});
  }

  /// Queues dw (n x k) += dy^T (n x m) x (m x k) where parameter i learns.
  void add_weight_gradient(std::size_t i, const float* dy, const float* x, i64 m) {
    if (!param_propagate_down(i)) return;
    const i64 n = blobs()[i]->dim(0), k = blobs()[i]->dim(1);
    multiply(group(), preferred_multiplier(group()),
             MatrixLibrary::Gemm{true, false, n, k, m, 1, dy, n, x, k, 1, blobs()[i]->mutable_diff(), k});
  }

  void add_bias_gradient(std::size_t i, const float* dy) {
    if (param_propagate_down(i)) sum_columns(group(), dy, rows(), blobs()[i]->count(), blobs()[i]->mutable_diff());
  }

  /// Queues recurred_[t] = cont[t] times `state`, and adds its product with the recurrent weights to sums_ at time t.
  void recur(i64 t, const float* state) {
    float* const here = recurred_->mutable_data() + t * step();
    scale_rows(group(), sequences_, width(), cont_ + t * sequences_, state, nullptr, here);
    times_weights(here, *blobs()[recurrent_weights()], sequences_, sums_->mutable_data() + t * gates() * step(), true);
  }

  /// Queues `previous` (+)= the gradient of the state before time t, from the gradient of sums_ at time t.
  void recur_back(i64 t, float* previous, bool adds) {
    float* const here = scratch_->mutable_data();
    back_through(sums_->data() + t * gates() * step(), *blobs()[recurrent_weights()], sequences_, here);
    scale_rows(group(), sequences_, width(), cont_ + t * sequences_, here, adds ? previous : nullptr, previous);
  }

  std::size_t recurrent_weights() const { return has_static_ ? 3 : 2; }

  i64 times_ = 1, sequences_ = 1;
  bool has_static_ = false;
  const float* cont_ = nullptr;                              ///< T x N, of the pass that runs
  std::unique_ptr<Blob> sums_;                               ///< T x N x gates num_output
  std::unique_ptr<Blob> recurred_;                           ///< T x N x num_output
  std::unique_ptr<Blob> scratch_;                            ///< N x gates num_output
  std::vector<std::unique_ptr<Blob>> states_, next_states_;  ///< N x num_output each

 private:
  bool exposes() const { return parameter().recurrent_param().expose_hidden(); }

  std::size_t first_state() const { return has_static_ ? 3 : 2; }
};

/// Caffe's RNN: h[t] = tanh(W_hh h[t-1] + W_xh x[t] + b_h), output tanh(W_ho h[t] + b_o). Blobs: W_xh, b_h, (W_xh of
/// the static input,) W_hh, W_ho, b_o.
class RnnLayer : public RecurrentLayer {
 public:
  using RecurrentLayer::RecurrentLayer;
  void setup(const Blobs& bottom, const Blobs& top) override {
    RecurrentLayer::setup(bottom, top);
    h_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    RecurrentLayer::reshape(bottom, top);
    h_->reshape(top[0]->shape());
  }

 protected:
  int states() const override { return 1; }
  int gates() const override { return 1; }
  void add_output_parameters() override {
    const auto& p = parameter().recurrent_param();
    add_parameter({width(), width()}, p.weight_filler());
    add_parameter({width()}, p.bias_filler());
  }

  void run_forward(const Blobs& top) override {
    const functions::Tanh tanh{};
    float* const h = h_->mutable_data();
    for (i64 t = 0; t < times_; ++t) {
      recur(t, t == 0 ? states_[0]->data() : h + (t - 1) * step());
      map(group(), tanh, sums_->data() + t * step(), h + t * step(), step());
    }
    group().copy(next_states_[0]->mutable_data(), h + (times_ - 1) * step(), float_bytes(step()));
    const std::size_t out = recurrent_weights() + 1;
    float* const y = top[0]->mutable_data();
    times_weights(h, *blobs()[out], rows(), y, false);
    add_to_columns(group(), blobs()[out + 1]->data(), y, rows(), width());
    map(group(), tanh, y, y, top[0]->count());
  }

  void run_backward(const Blobs& top) override {
    const functions::Tanh tanh{};
    const std::size_t out = recurrent_weights() + 1;
    float *const dsums = sums_->mutable_data(), *const dh = h_->mutable_diff();
    const float* const h = h_->data();
    map_gradient(group(), tanh, top[0]->data(), top[0]->diff(), dsums, top[0]->count());
    add_weight_gradient(out, dsums, h, rows());
    add_bias_gradient(out + 1, dsums);
    back_through(dsums, *blobs()[out], rows(), dh);
    float* const last = dh + (times_ - 1) * step();
    elementwise(group(), step(), AddUp{}, from(last, next_states_[0]->diff()), to(last));
    for (i64 t = times_ - 1; t >= 0; --t) {
      map_gradient(group(), tanh, h + t * step(), dh + t * step(), dsums + t * step(), step());
      recur_back(t, t == 0 ? states_[0]->mutable_diff() : dh + (t - 1) * step(), t > 0);
    }
  }

 private:
  std::unique_ptr<Blob> h_;  // T x N x num_output
};

/// Caffe's LSTM: gates i, f, o, g from W_hc h[t-1] + W_xc x[t] + b_c, then as LSTMUnit. Blobs: W_xc, b_c, (W_xc of the
/// static input,) W_hc.
class LstmLayer : public RecurrentLayer {
 public:
  using RecurrentLayer::RecurrentLayer;
  void setup(const Blobs& bottom, const Blobs& top) override {
    RecurrentLayer::setup(bottom, top);
    c_ = std::make_unique<Blob>(group());
  }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    RecurrentLayer::reshape(bottom, top);
    c_->reshape(top[0]->shape());
    cell_ = {sequences_, width()};
  }

 protected:
  int states() const override { return 2; }
  int gates() const override { return 4; }
  void run_forward(const Blobs& top) override {
    float *const sums = sums_->mutable_data(), *const c = c_->mutable_data(), *const h = top[0]->mutable_data();
    for (i64 t = 0; t < times_; ++t) {
      recur(t, t == 0 ? states_[0]->data() : h + (t - 1) * step());
      float* const gates = sums + t * 4 * step();
      cell_.forward(group(), gates, t == 0 ? states_[1]->data() : c + (t - 1) * step(), cont_ + t * sequences_, gates,
                    c + t * step(), h + t * step());
    }
    group().copy(next_states_[0]->mutable_data(), h + (times_ - 1) * step(), float_bytes(step()));
    group().copy(next_states_[1]->mutable_data(), c + (times_ - 1) * step(), float_bytes(step()));
  }

  void run_backward(const Blobs& top) override {
    // The gradient of h collects what comes from above and from the next time; that of c lives in one place, step by
    // step.
    float *const sums = sums_->mutable_data(), *const dh = recurred_->mutable_diff(),
                 *const dc = states_[1]->mutable_diff();
    group().copy(dh, top[0]->diff(), float_bytes(top[0]->count()));
    float* const last = dh + (times_ - 1) * step();
    elementwise(group(), step(), AddUp{}, from(last, next_states_[0]->diff()), to(last));
    group().copy(dc, next_states_[1]->diff(), float_bytes(step()));
    for (i64 t = times_ - 1; t >= 0; --t) {
      float* const gates = sums + t * 4 * step();
      cell_.backward(group(), gates, t == 0 ? states_[1]->data() : c_->data() + (t - 1) * step(),
                     c_->data() + t * step(), dc, dh + t * step(), gates, dc);
      recur_back(t, t == 0 ? states_[0]->mutable_diff() : dh + (t - 1) * step(), t > 0);
    }
  }

 private:
  LstmCell cell_;
  std::unique_ptr<Blob> c_;  // T x N x num_output
};

}  // namespace

void add_recurrent(LayerTable& table) {
  table.add<RnnLayer>("RNN");
  table.add<LstmLayer>("LSTM");
}

}  // namespace cortado
