#pragma once
#include "core/net/layer.h"
#include "layers/lstm_unit/cell.h"

namespace cortado {

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
  Arity bottoms() const override;
  Arity tops() const override;
  bool allows_backward_to(std::size_t i) const override { return i != 1; }
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;
  void forward(const Blobs& bottom, const Blobs& top) override;
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override;
  Cost cost(const Blobs& bottom, const Blobs& top) const override;

 protected:
  virtual int states() const = 0;  ///< number of hidden states: h, and c
  virtual int gates() const = 0;   ///< values of the sums for one of the output
  virtual void add_output_parameters() {}
  /// Computes all times, once sums_ has the inputs' part and states_ holds the states before the first time. Fills the
  /// top and next_states_.
  virtual void run_forward(const Blobs& top) = 0;
  /// Computes all times in reverse: sums_ becomes its gradient, and next_states_' gradients give those of states_.
  virtual void run_backward(const Blobs& top) = 0;

  i64 width() const;  ///< num_output
  i64 rows() const { return times_ * sequences_; }
  i64 step() const { return sequences_ * width(); }  ///< values of a state
  /// Queues y (m x n) = a (m x k) w^T (n x k), or with `adds`, y += that.
  void times_weights(const float* a, const Blob& w, i64 m, float* y, bool adds);
  /// Queues dx (m x k) = dy (m x n) w (n x k).
  void back_through(const float* dy, const Blob& w, i64 m, float* dx);
  /// Queues dw (n x k) += dy^T (n x m) x (m x k) where parameter i learns.
  void add_weight_gradient(std::size_t i, const float* dy, const float* x, i64 m);
  void add_bias_gradient(std::size_t i, const float* dy);
  /// Queues recurred_[t] = cont[t] times `state`, and adds its product with the recurrent weights to sums_ at time t.
  void recur(i64 t, const float* state);
  /// Queues `previous` (+)= the gradient of the state before time t, from the gradient of sums_ at time t.
  void recur_back(i64 t, float* previous, bool adds);
  std::size_t recurrent_weights() const { return has_static_ ? 3 : 2; }

  i64 times_ = 1, sequences_ = 1;
  bool has_static_ = false;
  const float* cont_ = nullptr;                              ///< T x N, of the pass that runs
  std::unique_ptr<Blob> sums_;                               ///< T x N x gates num_output
  std::unique_ptr<Blob> recurred_;                           ///< T x N x num_output
  std::unique_ptr<Blob> scratch_;                            ///< N x gates num_output
  std::vector<std::unique_ptr<Blob>> states_, next_states_;  ///< N x num_output each

 private:
  bool exposes() const;
  std::size_t first_state() const { return has_static_ ? 3 : 2; }
};

/// Caffe's RNN: h[t] = tanh(W_hh h[t-1] + W_xh x[t] + b_h), output tanh(W_ho h[t] + b_o). Blobs: W_xh, b_h, (W_xh of
/// the static input,) W_hh, W_ho, b_o.
class RnnLayer : public RecurrentLayer {
 public:
  using RecurrentLayer::RecurrentLayer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;

 protected:
  int states() const override { return 1; }
  int gates() const override { return 1; }
  void add_output_parameters() override;
  void run_forward(const Blobs& top) override;
  void run_backward(const Blobs& top) override;

 private:
  std::unique_ptr<Blob> h_;  // T x N x num_output
};

/// Caffe's LSTM: gates i, f, o, g from W_hc h[t-1] + W_xc x[t] + b_c, then as LSTMUnit. Blobs: W_xc, b_c, (W_xc of the
/// static input,) W_hc.
class LstmLayer : public RecurrentLayer {
 public:
  using RecurrentLayer::RecurrentLayer;
  void setup(const Blobs& bottom, const Blobs& top) override;
  void reshape(const Blobs& bottom, const Blobs& top) override;

 protected:
  int states() const override { return 2; }
  int gates() const override { return 4; }
  void run_forward(const Blobs& top) override;
  void run_backward(const Blobs& top) override;

 private:
  LstmCell cell_;
  std::unique_ptr<Blob> c_;  // T x N x num_output
};

}  // namespace cortado
