#pragma once
#include <string>
#include <vector>

namespace cortado {

/// A number of the 8-bit paper's appendix 5, printed there and computed by comm/predict from the inputs printed there.
struct PublishedPrediction {
  std::string table;  ///< "1", "3", ..., "7"; text between tables counts to the one before
  std::string entry;  ///< "128: sync ms, 8 bits"
  double ours, printed;
  std::string note;  ///< why it cannot come from the printed inputs; empty: it does
  bool fitted;       ///< computed with a bandwidth that the paper does not print

  double ratio() const { return ours / printed; }
  /// Without a note, within 3 %: printed values, and the inputs that they come from, have two or three digits.
  bool follows() const;
};

/// Tables 1 and 3 to 7, from models/published/predictions.json below the current folder. Throws FileError.
std::vector<PublishedPrediction> published_predictions();
/// The paper's title.
std::string source_of_predictions();

}  // namespace cortado
