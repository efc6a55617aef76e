#pragma once
#include <string>
#include <vector>

namespace cortado {

/// A number of the 8-bit paper's appendix 5: the printed one, and the one that comm/predict computes from the printed
/// inputs.
struct PublishedPrediction {
  std::string table;  ///< "1", "3", ..., "7"; text between tables counts to the one before
  std::string entry;  ///< "128: sync ms, 8 bits"
  double ours, printed;
  std::string note;  ///< why it cannot follow from the printed inputs; empty means that it does
  bool fitted;       ///< computed with a bandwidth that the paper does not print

  double ratio() const { return ours / printed; }
  /// True without a note and within 3 %: printed values and their inputs have two or three digits.
  bool follows() const;
};

/// Reads tables 1 and 3 to 7 from models/published/predictions.json below the current folder. Throws FileError.
std::vector<PublishedPrediction> published_predictions();
/// The paper's title.
std::string source_of_predictions();

}  // namespace cortado
