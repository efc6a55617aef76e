#include "core/formats/text_mistakes.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <numeric>

namespace cortado {
namespace pb = google::protobuf;

/// What stands around a position of the text.
struct TextMistakes::Place {
  struct Block {
    std::string name;
    int line;
  };
  std::vector<Block> open;             // blocks around it, outermost first
  const pb::Descriptor* in = nullptr;  // message of the innermost block; null if its name is unknown
  pb::io::Tokenizer::Token before{};   // the token before it
  std::string field;                   // the field whose value it is, if it follows a colon
  bool at_end = false;
};

namespace {
constexpr std::size_t most_mistakes = 50;  // to find the place of one, the text is read again
constexpr std::size_t longest_name = 64;   // of a field

class Silent : public pb::io::ErrorCollector {
  void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
};

/// Levenshtein distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string closest_field(const std::string& wrong, const pb::Descriptor& message) {
  std::string best;
  if (wrong.size() > longest_name) return best;
  std::size_t best_distance = wrong.size() / 3 + 2;  // farther names are no help
  for (int i = 0; i < message.field_count(); ++i) {
    const std::string& name = message.field(i)->name();
    // As many letters at least come or go.
    const std::size_t least = std::max(wrong.size(), name.size()) - std::min(wrong.size(), name.size());
    const std::size_t d = least < best_distance ? distance(wrong, name) : least;
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

std::string values_of(const pb::EnumDescriptor& type) {
  std::string names;
  for (int i = 0; i < type.value_count(); ++i) names += (i == 0 ? "" : ", ") + type.value(i)->name();
  return names;
}

/// The `n`-th piece of `message` between double quotes, from 0.
std::string quoted(const std::string& message, int n) {
  std::size_t from = 0, to = std::string::npos;
  for (int i = 0; i <= n; ++i) {
    from = message.find('"', to == std::string::npos ? 0 : to + 1);
    if (from == std::string::npos) return "";
    to = message.find('"', from + 1);
    if (to == std::string::npos) return "";
  }
  return message.substr(from + 1, to - from - 1);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}
}  // namespace

TextMistakes::Place TextMistakes::find(int line, int column) const {
  Silent silent;
  pb::io::ArrayInputStream stream(text_.data(), static_cast<int>(text_.size()));
  pb::io::Tokenizer tokens(&stream, &silent);
  tokens.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  Place place;
  std::string name;
  bool reached = false;
  while (!reached && tokens.Next()) {
    const auto& token = tokens.current();
    reached = token.line > line || (token.line == line && token.column >= column);
    if (reached) break;
    if (token.type == pb::io::Tokenizer::TYPE_IDENTIFIER && place.before.text != ":") name = token.text;
    if (token.text == "{" || token.text == "<") place.open.push_back({name, token.line});
    if ((token.text == "}" || token.text == ">") && !place.open.empty()) place.open.pop_back();
    place.before = token;
  }
  place.at_end = !reached;
  if (place.before.text == ":") place.field = name;
  place.in = &root_;
  for (const auto& block : place.open) {
    const pb::FieldDescriptor* field = place.in == nullptr ? nullptr : place.in->FindFieldByName(block.name);
    place.in = field == nullptr ? nullptr : field->message_type();
  }
  return place;
}

std::string TextMistakes::explain(const std::string& message, const Place& place) const {
  const std::string block = place.open.empty() ? root_.name() : "'" + place.open.back().name + "'";
  if (message.find("has no field named") != std::string::npos) {
    const std::string wrong = quoted(message, 1);
    const std::string close = place.in == nullptr ? "" : closest_field(wrong, *place.in);
    return "no field '" + wrong + "' in " + block + (close.empty() ? "" : " (did you mean '" + close + "'?)");
  }
  if (starts_with(message, "Unknown enumeration value")) {
    const std::string name = quoted(message, 1);
    const pb::FieldDescriptor* field = place.in == nullptr ? nullptr : place.in->FindFieldByName(name);
    const bool known = field != nullptr && field->enum_type() != nullptr;
    return "'" + quoted(message, 0) + "' is no value of '" + name + "'" +
           (known ? " (choose from " + values_of(*field->enum_type()) + ")" : "");
  }
  if (place.at_end && !place.open.empty())
    return "the text ends inside " + block + ", which is opened at line " + std::to_string(place.open.back().line + 1) +
           " (a '}' is missing)";
  if (!place.field.empty()) return "bad value of field '" + place.field + "': " + message;
  return message;
}

void TextMistakes::AddError(int line, pb::io::ColumnNumber column, const std::string& message) {
  if (lines_.size() == most_mistakes) {
    ++left_out_;
    return;
  }
  if (line < 0) {
    lines_.push_back(origin_ + ": " + message);
    return;
  }
  const Place place = find(line, column);
  // Protobuf names the token after an unknown field or value.
  const bool one_late =
      starts_with(message, "Unknown enumeration") || message.find("has no field named") != std::string::npos;
  const int l = one_late ? place.before.line : line, c = one_late ? place.before.column : column;
  lines_.push_back(origin_ + ":" + std::to_string(l + 1) + ":" + std::to_string(c + 1) + ": " +
                   explain(message, place));
}

void TextMistakes::AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) {
  AddError(line, column, message);
}

std::string TextMistakes::report() const {
  std::string all;
  for (const auto& line : lines_) all += (all.empty() ? "" : "\n") + line;
  if (left_out_ > 0) all += "\n" + origin_ + ": and " + std::to_string(left_out_) + " more";
  return all;
}

}  // namespace cortado
