#include "core/net/output_sums.h"

#include <numeric>

namespace cortado {

OutputSums::OutputSums(const Net& net) {
  for (const Net::Output& output : net.outputs()) counts_.push_back(output.blob->count());
}

void OutputSums::make_room() {
  sums_.resize(static_cast<std::size_t>(std::accumulate(counts_.begin(), counts_.end(), i64{0})) + counts_.size());
}

void OutputSums::merge(const Replicas& replicas) {
  make_room();
  replicas.sum(sums_.data(), static_cast<i64>(sums_.size()));
}

void OutputSums::add(const Net& net) {
  make_room();
  auto sum = sums_.begin(), varied = sums_.end() - static_cast<std::ptrdiff_t>(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i, ++varied) {
    const auto end = sum + counts_[i];
    if (net.outputs()[i].blob->count() != counts_[i])
      ++*varied;
    else
      for (const float value : net.outputs()[i].blob->data_vector()) *sum++ += double{value};
    sum = end;
  }
}

std::vector<OutputSums::Mean> OutputSums::means(const Net& net, i64 passes) const {
  std::vector<Mean> means;
  if (sums_.empty()) return means;
  auto sum = sums_.begin(), varied = sums_.end() - static_cast<std::ptrdiff_t>(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i, ++varied) {
    const Net::Output& output = net.outputs()[i];
    for (i64 e = 0; e < counts_[i] && *varied == 0; ++e)
      means.push_back({output.name, *(sum + e) / static_cast<double>(passes), output.loss_weight});
    sum += counts_[i];
  }
  return means;
}

std::vector<std::string> OutputSums::left_out(const Net& net) const {
  std::vector<std::string> names;
  if (sums_.empty()) return names;
  auto varied = sums_.end() - static_cast<std::ptrdiff_t>(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i, ++varied)
    if (*varied > 0) names.push_back(net.outputs()[i].name);
  return names;
}

}  // namespace cortado
