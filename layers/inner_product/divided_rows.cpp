#include "layers/inner_product/divided_rows.h"

#include <algorithm>

#include "core/machine/launch_elementwise.h"
#include "layers/concat/copy_rows.h"
#include "layers/split/programs.h"

namespace cortado {

DividedRows::DividedRows(ShardExchange& ranks, CoreGroup& group, Workspace& workspace, const Division& division,
                         const Settings& settings)
    : ranks_(ranks),
      group_(group),
      workspace_(workspace),
      division_(division),
      inputs_{settings.terms, settings.inputs_divided},
      outputs_{settings.outputs, !settings.inputs_divided},
      wanted_sub_batches_(settings.sub_batches),
      codec_(settings.codec) {}

void DividedRows::reshape(i64 rows) {
  rows_ = rows;
  sub_batches_ = std::max<i64>(1, std::min(wanted_sub_batches_, rows));
  const auto bytes = static_cast<std::size_t>(all_rows() * here(inputs_)) * sizeof(float);
  if (all_inputs_.bytes() >= bytes) return;
  all_inputs_ = ClusterMemory();  // first, so that old and new never stand side by side
  all_inputs_ = ClusterMemory(group_, bytes);
}

i64 DividedRows::place(const Side& side, i64 sub_batch, int rank) const {
  return (ranks_.size() * begin(sub_batch) + rank * count(sub_batch)) * here(side);
}

i64 DividedRows::place_in_packed(const Side& side, i64 sub_batch, int rank) const {
  return side.divided ? begin(sub_batch) * side.width + count(sub_batch) * division_.begin(rank)
                      : (rank * rows_ + begin(sub_batch)) * side.width;
}

i64 DividedRows::to_all(const Side& side, i64 sub_batch, const float* own, float* packed, float* all) {
  const i64 rows = count(sub_batch), width = here(side);
  const float* const first = own + begin(sub_batch) * side.width;
  std::vector<ShardExchange::Outgoing> out;
  std::vector<ShardExchange::Incoming> in;
  for (int r = 0; r < ranks_.size(); ++r) {
    const i64 theirs = columns(side, r);
    const float* const from = side.divided ? first + division_.begin(r) : first;
    if (r == ranks_.rank()) {
      copy_rows(group_, from, side.width, all + place(side, sub_batch, r), width, rows, width);
      continue;
    }
    const float* sent = from;
    if (side.divided) {
      float* const pack = packed + place_in_packed(side, sub_batch, r);
      copy_rows(group_, from, side.width, pack, theirs, rows, theirs);
      sent = pack;
    }
    out.push_back({r, sent, rows * theirs});
    in.push_back({r, all + place(side, sub_batch, r), rows * width});
  }
  return ranks_.start(codec_, out, in);
}

i64 DividedRows::to_owners(const Side& side, i64 sub_batch, const float* all, float* arriving) {
  const i64 rows = count(sub_batch);
  std::vector<ShardExchange::Outgoing> out;
  std::vector<ShardExchange::Incoming> in;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (r == ranks_.rank()) continue;
    out.push_back({r, all + place(side, sub_batch, r), rows * here(side)});
    in.push_back({r, arriving + place_in_packed(side, sub_batch, r), rows * columns(side, r)});
  }
  return ranks_.start(codec_, out, in);
}

/// Sums are added up in order of ranks, so that they are the same from run to run.
void DividedRows::settle(const Side& side, i64 sub_batch, const float* all, const float* arriving, float* own) {
  const i64 rows = count(sub_batch);
  float* const first = own + begin(sub_batch) * side.width;
  for (int r = 0; r < ranks_.size(); ++r) {
    const float* const came =
        r == ranks_.rank() ? all + place(side, sub_batch, r) : arriving + place_in_packed(side, sub_batch, r);
    const i64 width = columns(side, r);
    if (side.divided)
      copy_rows(group_, came, width, first + division_.begin(r), side.width, rows, width);
    else if (r == 0)
      copy_rows(group_, came, width, first, width, rows, width);
    else
      elementwise(group_, rows * width, AddUp{}, from(first, came), to(first));
  }
}

void DividedRows::settle_all(const Side& side, const std::vector<i64>& exchanges, const float* all,
                             const float* arriving, float* own) {
  i64 sub_batch = 0;
  for (const i64 exchange : exchanges) {
    ranks_.finish(exchange);
    settle(side, sub_batch++, all, arriving, own);
  }
}

void DividedRows::forward(const float* x, float* y, const Forward& multiply) {
  const i64 products = all_rows() * here(outputs_);
  float* const all_y = workspace_.floats(products + arriving(outputs_) + packed(inputs_));
  float *const arriving_y = all_y + products, *const packed_x = arriving_y + arriving(outputs_);
  auto* const all_x = all_inputs_.as<float>();
  std::vector<i64> back;
  i64 next = to_all(inputs_, 0, x, packed_x, all_x);
  for (i64 k = 0; k < sub_batches_; ++k) {
    const i64 now = next;
    if (k + 1 < sub_batches_) next = to_all(inputs_, k + 1, x, packed_x, all_x);
    ranks_.finish(now);
    multiply(all_x + place(inputs_, k, 0), all_y + place(outputs_, k, 0), ranks_.size() * count(k));
    back.push_back(to_owners(outputs_, k, all_y, arriving_y));
  }
  settle_all(outputs_, back, all_y, arriving_y, y);
}

void DividedRows::backward(const float* dy, float* dx, const Errors& multiply, const Gradient& gradient) {
  const i64 errors = all_rows() * here(outputs_);
  const i64 products = dx != nullptr ? all_rows() * here(inputs_) : 0;
  float* const all_dy = workspace_.floats(errors + products + arriving(inputs_) + packed(outputs_));
  float *const all_dx = all_dy + errors, *const arriving_dx = all_dx + products;
  float* const packed_dy = arriving_dx + arriving(inputs_);
  const auto* const all_x = all_inputs_.as<float>();
  std::vector<i64> back;
  i64 next = to_all(outputs_, 0, dy, packed_dy, all_dy);
  for (i64 k = 0; k < sub_batches_; ++k) {
    const i64 now = next, rows = ranks_.size() * count(k);
    if (k + 1 < sub_batches_) next = to_all(outputs_, k + 1, dy, packed_dy, all_dy);
    ranks_.finish(now);
    const float* const dy_k = all_dy + place(outputs_, k, 0);
    if (dx != nullptr) {
      multiply(dy_k, all_dx + place(inputs_, k, 0), rows);
      back.push_back(to_owners(inputs_, k, all_dx, arriving_dx));
    } else if (gradient) {
      gradient(dy_k, all_x + place(inputs_, k, 0), rows);
    }
  }
  if (dx == nullptr) return;
  if (gradient) gradient(all_dy, all_x, all_rows());
  settle_all(inputs_, back, all_dx, arriving_dx, dx);
}

}  // namespace cortado
