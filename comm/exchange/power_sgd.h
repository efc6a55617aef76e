#pragma once
#include <functional>
#include <vector>

#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients of inner products as products of two narrow matrices, with error feedback (PowerSGD, Vogels, Karimireddy,
/// Jaggi 2019, algorithms 1 and 2). For a gradient M of rows x columns on each rank, its kept error E and a matrix Q of
/// columns x rank that all ranks share:
///   M = M + E;   P = sum over ranks of M Q, made orthonormal;   Q = sum over ranks of transposed M times P;
///   the sum of gradients is P times transposed Q;   E = M - P transposed Q / ranks
/// The next iteration begins with this Q. A rank sends rank (rows + columns) values instead of rows x columns. Other
/// blobs, and matrices that this would not make smaller, travel as floats, together with all P. One rank alone leaves
/// nothing out. All ranks have the same bits where their products have.
class PowerSgd : public GradientExchange {
 public:
  /// Queues a product of matrices in cluster memory.
  using Multiply = std::function<void(CoreGroup& group, const MatrixLibrary::Gemm& product)>;
  /// Borrows both. `rank` is at least 1.
  PowerSgd(JobTeam& job, CoreGroup& group, i64 rank, Multiply multiply);
  /// Afterwards the arena holds the sum. Returns 1 / ranks.
  float finish(Net& net) override;
  std::vector<float> residuals() const override;
  bool restore_residuals(Net& net, const std::vector<float>& values) override;

 private:
  struct Matrix {
    i64 place;  ///< in the arena
    i64 rows, columns;
    ClusterMemory error, p, q;
    i64 p_message, q_message;  ///< places in the messages
  };

  void prepare(const Net& net);
  /// M = M + E and P = M Q; the other gradients and P make the first message.
  void project(float* gradients);
  /// P is made orthonormal, and Q = transposed M times P makes the second message.
  void turn_back(float* gradients);
  /// The gradients become P transposed Q, and E what that leaves out.
  void put_back(float* gradients);
  /// Sums a message over ranks.
  void sum(std::vector<float>& message);
  /// Calls visit(memory) for all that is kept for the next iteration.
  template <class Visit>
  void for_each_kept(Visit visit) const;

  JobTeam& job_;
  CoreGroup& group_;
  const i64 rank_;
  const Multiply multiply_;
  const int ranks_;
  i64 values_ = -1;  ///< of the arena that the matrices belong to
  std::vector<Matrix> matrices_;
  std::vector<Net::Range> others_;           ///< of the arena: what travels as floats
  std::vector<float> with_others_, with_q_;  ///< the two messages
};

}  // namespace cortado
