#pragma once
#include <string>
#include <vector>

#include "comm/predict/speedup.h"

namespace cortado {

/// What becomes of an iteration when the weights of a fully connected layer are divided over devices, each of which
/// keeps its own batch (layers/inner_product/divided_rows.h; Dettmers 2016, section 2.4).
struct DividedLayer {
  struct Way {
    double iteration = 0;  ///< seconds; 0: there are fewer outputs (inputs) than devices
    i64 sub_batches = 1;   ///< with which it is that
  };
  std::string name;
  double undivided = 0;  ///< seconds of an iteration
  Way outputs, inputs;

  enum class Choice { undivided, outputs, inputs };
  Choice choice() const;
};

/// Seconds of one direction of a divided layer that go beyond its arithmetic: as many sub-batches as given, whose rows
/// take `there` to come, `work` to be multiplied and `back` to go to their owners; then `after` of arithmetic. Messages
/// go one after another, the next sub-batch's rows before this one's products.
double exposed_in(i64 sub_batches, double there, double work, double back, double after);

/// Every fully connected layer, from the last one on, with what is best for those before: gradients that need no
/// exchange leave the link to others. Powers of two up to the batch are tried as sub-batches. What gains less than a
/// thousandth is not worth it. In forward order; one device has nothing to divide.
std::vector<DividedLayer> predict_divisions(const Work& work, const Links& links, const Coding& coding,
                                            const Parallelism& how, int devices);

}  // namespace cortado
