#pragma once
#include <string>
#include <vector>

#include "comm/predict/speedup.h"

namespace cortado {

/// The iteration with the weights of a fully connected layer divided over devices, each of which keeps its own batch
/// (layers/inner_product/divided_rows.h; Dettmers 2016, section 2.4).
struct DividedLayer {
  struct Way {
    double iteration = 0;  ///< seconds; 0 means fewer outputs (inputs) than devices
    i64 sub_batches = 1;   ///< the number of sub-batches that takes so long
  };
  std::string name;
  double undivided = 0;  ///< seconds of an iteration
  Way outputs, inputs;

  enum class Choice { undivided, outputs, inputs };
  Choice choice() const;
};

/// Seconds of one direction of a divided layer beyond its arithmetic. Each sub-batch's rows take `there` to come,
/// `work` to be multiplied and `back` to go to their owners; then `after` is more arithmetic. Messages go one after
/// another, the next sub-batch's rows before this one's products.
double exposed_in(i64 sub_batches, double there, double work, double back, double after);

/// Decides for every fully connected layer, from the last one on, with the best decision for those behind. Gradients
/// that need no exchange leave the link to others. It tries powers of two up to the batch as sub-batches. A gain below
/// a thousandth is not worth it. Results are in forward order; one device has nothing to divide.
std::vector<DividedLayer> predict_divisions(const Work& work, const Links& links, const Coding& coding,
                                            const Parallelism& how, int devices);

}  // namespace cortado
