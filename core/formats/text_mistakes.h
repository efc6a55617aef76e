#pragma once
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <map>
#include <set>
#include <string>
#include <utility>
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
  /// Whether the parser stopped at an unknown value: `text` then has a known one in its place, and parsing it finds
  /// what comes behind.
  bool next_text(std::string& text);
  /// What forks of Caffe have, and is ignored here: a line each.
  const std::set<std::string>& ignored() const { return ignored_; }
  /// One line "FILE:LINE:COLUMN: what" per mistake; of very many, the first.
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
  std::pair<std::size_t, std::string> stand_in_;  // where in the text; empty: none
  int left_out_ = 0;
};

}  // namespace cortado
