#include "layers/convolution/candidates.h"

#include <algorithm>
#include <iterator>

namespace cortado {

const char* to_string(ConvolutionDirection direction) {
  switch (direction) {
    case ConvolutionDirection::forward: return "forward";
    case ConvolutionDirection::weight_gradient: return "weight_gradient";
    case ConvolutionDirection::input_gradient: return "input_gradient";
  }
  return "";
}

const std::vector<std::unique_ptr<ConvolutionCandidate>>& convolution_candidates() {
  static const auto all = [] {
    std::vector<std::unique_ptr<ConvolutionCandidate>> list;
    auto winograd = make_winograd_convolutions(), direct = make_direct_convolutions();
    list.push_back(std::move(winograd.front()));
    list.push_back(make_strassen_convolution());
    list.push_back(std::move(direct.front()));
    list.push_back(make_small_winograd_convolution());
    list.push_back(make_explicit_convolution());
    list.push_back(make_explicit_tile_convolution());
    list.push_back(make_implicit_convolution());
    list.push_back(make_published_explicit_convolution());
    list.push_back(make_published_implicit_convolution());
    for (auto* const variants : {&winograd, &direct})
      std::move(variants->begin() + 1, variants->end(), std::back_inserter(list));
    return list;
  }();
  return all;
}

}  // namespace cortado
