#pragma once
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cortado {

/// Collects the complaints of protobuf's text parser and puts them into the user's words, with file, line and column.
class TextMistakes : public google::protobuf::io::ErrorCollector {
 public:
  /// All arguments must outlive this. `root` is the message being parsed.
  TextMistakes(const std::string& text, const std::string& origin, const google::protobuf::Descriptor& root)
      : text_(text), origin_(origin), root_(root) {}

  /// protobuf calls these with lines and columns from 0; line -1 means that a mistake has no place.
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;
  void AddWarning(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override;

  bool empty() const { return lines_.empty(); }
  /// True if the parser stopped at an unknown value. `text` then has a known value in its place, so that parsing it
  /// again finds later mistakes.
  bool next_text(std::string& text);
  /// The fields of Caffe's forks that are ignored, a line each.
  const std::set<std::string>& ignored() const { return ignored_; }
  /// One line "FILE:LINE:COLUMN: what" per mistake; only the first ones if there are very many.
  std::string report() const;

 private:
  struct Place;
  Place find(int line, int column) const;
  std::string explain(const std::string& message, const Place& place) const;
  std::string block_of(const Place& place) const;
  void find_stand_in(const Place& place, const std::string& name);

  const std::string& text_;
  const std::string& origin_;
  const google::protobuf::Descriptor& root_;
  std::map<std::pair<int, int>, std::string> lines_;  // by line and column
  std::set<std::string> ignored_;
  std::pair<std::size_t, std::string> stand_in_;  // position in the text and value; an empty value means none
  int left_out_ = 0;
};

}  // namespace cortado
