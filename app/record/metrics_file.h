#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/file.h"

namespace cortado {

/// JSON whose fields stay in the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

/// A file of lines, each a JSON object, that grows while a training goes on. Every line is one write to the end of the
/// file, and nothing stays in this process. So a kill cuts no more than the last line.
class MetricsFile {
 public:
  /// Opens the file, or makes it and its folders. A last line that a kill has cut goes. Throws FileError where it
  /// cannot be written, is no regular file, or another process has it open for this.
  explicit MetricsFile(const std::string& file);

  /// Throws FileError.
  void add(const OrderedJson& line);

 private:
  void drop_cut_line();

  std::string file_;
  Descriptor descriptor_;
};

/// The number with seven digits, as many as floats have. It makes lines short.
double shortened(double value);
/// Seconds since 1970, to the millisecond.
double now_in_seconds();

}  // namespace cortado
