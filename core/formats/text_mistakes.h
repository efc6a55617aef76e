#pragma once
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <string>
#include <vector>

namespace cortado {

/// Collects what protobuf's text parser complains about and puts it into the user's words, with file, line and column.
class TextMistakes : public google::protobuf::io::ErrorCollector {
 public:
  /// All arguments must outlive this. `root` is the message being parsed.
  TextMistakes(const std::string& text, const std::string& origin, const google::protobuf::Descriptor& root)
      : text_(text), origin_(origin), root_(root) {}

  /// Called by protobuf, with lines and columns from 0; line -1 where a mistake has no place.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;

  bool empty() const { return lines_.empty(); }
  /// One line "FILE:LINE:COLUMN: what" per mistake; of very many, the first.
  std::string report() const;

 private:
  struct Place;
  Place find(int line, int column) const;
  std::string explain(const std::string& message, const Place& place) const;

  const std::string& text_;
  const std::string& origin_;
  const google::protobuf::Descriptor& root_;
  std::vector<std::string> lines_;
  int left_out_ = 0;
};

}  // namespace cortado
