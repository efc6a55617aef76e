#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/machine/integers.h"
#include "core/net/division.h"
#include "core/net/shard_exchange.h"
#include "core/net/workspace.h"

namespace cortado {

/// Moves rows (samples) between the ranks over which a product's weights are divided (Dettmers 2016, section 2.2, and
/// 2.4 for its sub-batches). Every rank has rows of its own, equally many: inputs, `terms` wide, and outputs. One of
/// the two is *divided*: a rank multiplies by the weights of some of its columns. A product over all ranks' rows moves
///
///   the undivided one   whole: every rank gets all ranks' rows; on the way back rows are sums over ranks
///   the divided one     in columns: every rank gets those for which it has weights; on the way back rows are joined
///
/// Own rows go through in sub-batches. While one is multiplied, the next one's rows and the last one's products travel.
/// All ranks' rows lie one sub-batch after another when they are multiplied; in each, rank 0's come first.
class DividedRows {
 public:
  struct Settings {
    i64 terms, outputs;   ///< of the whole product
    bool inputs_divided;  ///< else outputs are
    i64 sub_batches;      ///< no more than there are rows
    std::string codec;    ///< codec of messages; values that stay on their rank are exact
  };
  /// Borrows everything. `division`'s divided dimension is that of the divided side.
  DividedRows(ShardExchange& ranks, CoreGroup& group, Workspace& workspace, const Division& division,
              const Settings& settings);

  /// Sets the number of every rank's rows.
  void reshape(i64 rows);
  /// The rows of all ranks together, and of the longest product forward.
  i64 all_rows() const { return ranks_.size() * rows_; }
  i64 most_rows() const { return ranks_.size() * ceil_div(rows_, sub_batches_); }
  /// The widths of this rank's products: of inputs and of outputs.
  i64 terms_here() const { return here(inputs_); }
  i64 outputs_here() const { return here(outputs_); }

  /// Multiply `rows` rows at those addresses.
  using Forward = std::function<void(const float* x, float* y, i64 rows)>;
  using Errors = std::function<void(const float* dy, float* dx, i64 rows)>;
  using Gradient = std::function<void(const float* dy, const float* x, i64 rows)>;
  /// Computes own outputs from own inputs. All ranks' inputs are kept for `backward`.
  void forward(const float* x, float* y, const Forward& multiply);
  /// Computes own inputs' gradients and the weights'. nullptr for `dx`, or an empty `gradient`, means without these.
  /// Weights' gradients are computed while the last errors travel.
  void backward(const float* dy, float* dx, const Errors& multiply, const Gradient& gradient);

 private:
  /// One of the two matrices of which ranks have rows.
  struct Side {
    i64 width;
    bool divided;
  };
  i64 begin(i64 sub_batch) const { return rows_ * sub_batch / sub_batches_; }  ///< in own rows
  i64 count(i64 sub_batch) const { return begin(sub_batch + 1) - begin(sub_batch); }
  i64 columns(const Side& side, int rank) const { return side.divided ? division_.count(rank) : side.width; }
  i64 here(const Side& side) const { return columns(side, ranks_.rank()); }
  /// The place of a rank's rows of a sub-batch among all ranks' rows.
  i64 place(const Side& side, i64 sub_batch, int rank) const;
  /// The memory for `to_all` to pack, and for `to_owners` to receive.
  i64 packed(const Side& side) const { return side.divided ? rows_ * side.width : 0; }
  i64 arriving(const Side& side) const { return (side.divided ? 1 : ranks_.size()) * rows_ * side.width; }
  /// The place in such memory of the columns, or the terms of sums, that go from or to a rank.
  i64 place_in_packed(const Side& side, i64 sub_batch, int rank) const;

  /// Begins to bring own rows to all. Returns the exchange.
  i64 to_all(const Side& side, i64 sub_batch, const float* own, float* packed, float* all);
  /// Begins to bring products to the rows' owners. Returns the exchange.
  i64 to_owners(const Side& side, i64 sub_batch, const float* all, float* arriving);
  /// Makes own rows of the values that came with `to_owners`.
  void settle(const Side& side, i64 sub_batch, const float* all, const float* arriving, float* own);
  void settle_all(const Side& side, const std::vector<i64>& exchanges, const float* all, const float* arriving,
                  float* own);

  ShardExchange& ranks_;
  CoreGroup& group_;
  Workspace& workspace_;
  const Division& division_;
  const Side inputs_, outputs_;
  const i64 wanted_sub_batches_;
  const std::string codec_;
  i64 rows_ = 0, sub_batches_ = 1;
  ClusterMemory all_inputs_;  // of the last forward
};

}  // namespace cortado
