#include "comm/exchange/power_sgd.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/random.h"
#include "core/solver/core_groups.h"

namespace cortado {
namespace {
std::size_t floats_bytes(i64 floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

/// Value `i` of a column that says nothing yet: the same on all ranks.
float first_value(i64 i, i64 column) {
  return random_uniform(static_cast<std::uint64_t>(column) + 1, static_cast<std::uint64_t>(i)) - 0.5f;
}

/// Makes the columns of a matrix of `rows` rows orthonormal (Gram-Schmidt). One that depends on those before becomes
/// zeros.
void orthonormalise(float* matrix, i64 rows, i64 columns) {
  const auto product = [&](i64 a, i64 b) {
    double sum = 0;
    for (i64 i = 0; i < rows; ++i) sum += double{matrix[i * columns + a]} * double{matrix[i * columns + b]};
    return sum;
  };
  constexpr double least = 1e-6;  // of a column's length must be left: below are roundings of float
  for (i64 column = 0; column < columns; ++column) {
    const double before = std::sqrt(product(column, column));
    for (i64 other = 0; other < column; ++other) {
      const double along = product(column, other);
      for (i64 i = 0; i < rows; ++i)
        matrix[i * columns + column] -= static_cast<float>(along * double{matrix[i * columns + other]});
    }
    const double left = std::sqrt(product(column, column));
    const double factor = left > least * before ? 1 / left : 0;
    for (i64 i = 0; i < rows; ++i)
      matrix[i * columns + column] = static_cast<float>(double{matrix[i * columns + column]} * factor);
  }
}

/// Gives columns of zeros their first values again: from zeros none would ever come back.
void revive(float* matrix, i64 rows, i64 columns) {
  for (i64 column = 0; column < columns; ++column) {
    bool is_zero = true;
    for (i64 i = 0; i < rows; ++i) is_zero = is_zero && matrix[i * columns + column] == 0;
    for (i64 i = 0; i < rows && is_zero; ++i) matrix[i * columns + column] = first_value(i, column);
  }
}
}  // namespace

PowerSgd::PowerSgd(JobTeam& job, CoreGroup& group, i64 rank, Multiply multiply)
    : job_(job), group_(group), rank_(rank), multiply_(std::move(multiply)), ranks_(job.topology().ranks()) {
  require(rank >= 1, "a matrix has a rank");
}

/// Lists the matrices, unless the net is still of the same size.
void PowerSgd::prepare(const Net& net) {
  const i64 values = net.parameter_arena()->count;
  if (values_ == values) return;
  values_ = values;
  matrices_.clear();
  others_.clear();
  i64 messages = 0, q_message = 0;
  std::vector<Net::Range> wide;
  for (const Net::Learnable& learnable : net.learnable()) {
    const Blob& blob = *learnable.blob;
    if (learnable.division != nullptr || learnable.statistic || blob.axes() != 2) continue;
    const i64 rows = blob.dim(0), columns = blob.dim(1);
    if (rank_ * (rows + columns) >= rows * columns) continue;
    wide.push_back({learnable.arena_offset, rows * columns});
    Matrix matrix{learnable.arena_offset,
                  rows,
                  columns,
                  ClusterMemory(group_, floats_bytes(rows * columns)),
                  ClusterMemory(group_, floats_bytes(rows * rank_)),
                  ClusterMemory(group_, floats_bytes(columns * rank_)),
                  0,
                  0};
    std::vector<float> q(static_cast<std::size_t>(columns * rank_));
    revive(q.data(), columns, rank_);
    group_.zero(matrix.error.get(), matrix.error.bytes());
    group_.copy(matrix.q.get(), q.data(), matrix.q.bytes());
    group_.wait();
    matrices_.push_back(std::move(matrix));
  }
  std::sort(wide.begin(), wide.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  i64 end = 0;
  for (const Net::Range& range : wide) {
    if (range.first > end) others_.push_back({end, range.first - end});
    end = range.first + range.count;
  }
  if (values > end) others_.push_back({end, values - end});
  for (const Net::Range& range : others_) messages += range.count;
  for (Matrix& matrix : matrices_) {
    matrix.p_message = messages;
    matrix.q_message = q_message;
    messages += matrix.rows * rank_;
    q_message += matrix.columns * rank_;
  }
  i64 whole = 0;
  for (const Net::Range& range : wide) whole += range.count;
  CORTADO_LOG(info) << "Gradients of " << matrices_.size() << " inner products travel as "
                    << messages + q_message - (values - whole) << " values instead of " << whole << ", "
                    << values - whole << " others as they are";
  with_others_.resize(static_cast<std::size_t>(messages));
  with_q_.resize(static_cast<std::size_t>(q_message));
}

void PowerSgd::sum(std::vector<float>& message) {
  group_.wait();
  const auto count = static_cast<i64>(message.size());
  if (count > 0) job_.run(job_.allreduce("auto", count * 4), {message.data(), count, Precision::fp32});
}

void PowerSgd::project(float* gradients) {
  float* at = with_others_.data();
  for (const Net::Range& range : others_) {
    group_.copy(at, gradients + range.first, floats_bytes(range.count));
    at += range.count;
  }
  for (const Matrix& m : matrices_) {
    add_values(group_, m.error.as<float>(), gradients + m.place, m.rows * m.columns);
    MatrixLibrary::Gemm product;
    product.m = m.rows, product.n = rank_, product.k = m.columns;
    product.a = gradients + m.place, product.lda = m.columns;
    product.b = m.q.as<float>(), product.ldb = rank_;
    product.y = m.p.as<float>(), product.ldy = rank_;
    multiply_(group_, product);
    group_.copy(with_others_.data() + m.p_message, m.p.get(), m.p.bytes());
  }
}

void PowerSgd::turn_back(float* gradients) {
  const float* at = with_others_.data();
  for (const Net::Range& range : others_) {
    group_.copy(gradients + range.first, at, floats_bytes(range.count));
    at += range.count;
  }
  for (const Matrix& m : matrices_) {
    float* const p = with_others_.data() + m.p_message;
    orthonormalise(p, m.rows, rank_);
    group_.copy(m.p.get(), p, m.p.bytes());
    MatrixLibrary::Gemm product;
    product.transpose_a = true;
    product.m = m.columns, product.n = rank_, product.k = m.rows;
    product.a = gradients + m.place, product.lda = m.columns;
    product.b = m.p.as<float>(), product.ldb = rank_;
    product.y = m.q.as<float>(), product.ldy = rank_;
    multiply_(group_, product);
    group_.copy(with_q_.data() + m.q_message, m.q.get(), m.q.bytes());
  }
}

void PowerSgd::put_back(float* gradients) {
  for (const Matrix& m : matrices_) {
    float* const q = with_q_.data() + m.q_message;
    group_.copy(m.q.get(), q, m.q.bytes());
    group_.copy(m.error.get(), gradients + m.place, m.error.bytes());
    MatrixLibrary::Gemm product;
    product.transpose_b = true;
    product.m = m.rows, product.n = m.columns, product.k = rank_;
    product.a = m.p.as<float>(), product.lda = rank_;
    product.b = m.q.as<float>(), product.ldb = rank_;
    product.y = gradients + m.place, product.ldy = m.columns;
    multiply_(group_, product);
    product.alpha = -1.0f / static_cast<float>(ranks_), product.beta = 1;
    product.y = m.error.as<float>();
    multiply_(group_, product);
    group_.wait();
    revive(q, m.columns, rank_);
    group_.copy(m.q.get(), q, m.q.bytes());
  }
  group_.wait();
}

float PowerSgd::finish(Net& net) {
  if (ranks_ == 1) return 1;
  prepare(net);
  float* const gradients = net.gradient_arena()->data;
  project(gradients);
  sum(with_others_);
  turn_back(gradients);
  sum(with_q_);
  put_back(gradients);
  return 1.0f / static_cast<float>(ranks_);
}

template <class Visit>
void PowerSgd::for_each_kept(Visit visit) const {
  for (const Matrix& matrix : matrices_)
    for (const ClusterMemory* const memory : {&matrix.error, &matrix.q}) visit(*memory);
}

std::vector<float> PowerSgd::residuals() const {
  std::vector<float> values;
  for_each_kept([&](const ClusterMemory& memory) {
    const std::size_t begin = values.size();
    values.resize(begin + memory.bytes() / 4);
    group_.copy(values.data() + begin, memory.get(), memory.bytes());
    group_.wait();
  });
  return values;
}

bool PowerSgd::restore_residuals(Net& net, const std::vector<float>& values) {
  if (ranks_ > 1) prepare(net);
  std::size_t count = 0;
  for_each_kept([&](const ClusterMemory& memory) { count += memory.bytes() / 4; });
  if (values.size() != count) return false;
  const float* next = values.data();
  for_each_kept([&](const ClusterMemory& memory) {
    group_.copy(memory.get(), next, memory.bytes());
    next += memory.bytes() / 4;
  });
  group_.wait();
  return true;
}

}  // namespace cortado
