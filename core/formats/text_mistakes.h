#pragma once
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cortado {

/// Collects the complaints of protobuf's text parser and puts them into the user's words, with file, line and column.
/// Mistakes of one kind, such as a field that many layers have, are one line.
class TextMistakes : public google::protobuf::io::ErrorCollector {
 public:
  /// All arguments must outlive this. `root` is the message being parsed.
  TextMistakes(const std::string& text, const std::string& origin, const google::protobuf::Descriptor& root)
      : text_(text), origin_(origin), root_(root) {}

  /// protobuf calls these with lines and columns from 0; line -1 means that a mistake has no place.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;

  /// True if the parser stopped at an unknown value. `text` then has a known value in its place, and wherever the same
  /// value stands, so that parsing it again finds later mistakes.
  bool next_text(std::string& text);
  /// The fields of Caffe's forks that are ignored, a line per kind.
  std::vector<std::string> ignored() const { return report(true); }
  /// A line "FILE:LINE:COLUMN: what" per kind of mistake; only the first ones if there are very many.
  std::vector<std::string> report() const { return report(false); }
  /// The number of mistakes.
  std::size_t count() const;

 private:
  struct Place;
  struct Kind {
    std::string text;
    bool is_ignored = false;
    std::size_t times = 0;
    std::vector<std::string> lines;  // its first other places
  };
  class Walk;

  Place find(int line, int column) const;
  std::string explain(const std::string& message, const Place& place) const;
  std::string block_of(const Place& place) const;
  void find_stand_ins(const Place& place, const std::string& name, Kind& kind);
  std::vector<std::string> report(bool ignored) const;

  const std::string& text_;
  const std::string& origin_;
  const google::protobuf::Descriptor& root_;
  std::map<std::pair<int, int>, Kind> kinds_;                   // by line and column of the first
  std::map<std::string, std::pair<int, int>> by_message_;       // the key of kinds_
  std::pair<int, int> last_{-1, -1};                            // the place of the last mistake
  std::vector<std::pair<std::size_t, std::string>> stand_ins_;  // position in the text and value
  std::size_t left_out_ = 0;
};

}  // namespace cortado
