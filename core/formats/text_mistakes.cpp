#include "core/formats/text_mistakes.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/log.h"
#include "core/formats/close_name.h"
#include "core/formats/foreign_words.h"

namespace cortado {
namespace pb = google::protobuf;

/// The surroundings of a position of the text.
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

class Silent : public pb::io::ErrorCollector {
  void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
};

std::string closest_field(const std::string& wrong, const pb::Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return close_name(wrong, names);
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

bool is_unknown_field(const std::string& message) { return message.find("has no field named") != std::string::npos; }

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
  if (is_unknown_field(message)) {
    const std::string wrong = quoted(message, 1);
    if (const ForeignWord* const word = foreign_word(block_of(place), wrong))
      return "no field '" + wrong + "' in " + block + " (" + word->advice + ")";
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

std::string TextMistakes::block_of(const Place& place) const {
  return place.open.empty() ? root_.name() : place.open.back().name;
}

void TextMistakes::AddError(int line, pb::io::ColumnNumber column, const std::string& message) {
  const std::pair<int, int> position{line, column};
  if (lines_.count(position) != 0) return;  // the text before a stand-in is parsed again
  if (lines_.size() == most_mistakes) {
    ++left_out_;
    return;
  }
  if (line < 0) {
    lines_[position] = origin_ + ": " + message;
    return;
  }
  const Place place = find(line, column);
  const bool is_value = starts_with(message, "Unknown enumeration");
  // Protobuf names the token after an unknown field or value.
  const bool one_late = is_value || is_unknown_field(message);
  const int l = one_late ? place.before.line : line, c = one_late ? place.before.column : column;
  const std::string at = origin_ + ":" + std::to_string(l + 1) + ":" + std::to_string(c + 1) + ": ";
  const std::string name = is_value || is_unknown_field(message) ? quoted(message, 1) : "";
  const ForeignWord* const word = name.empty() ? nullptr : foreign_word(block_of(place), name);
  if (is_value) find_stand_in(place, name);
  if (word != nullptr && word->ignored)
    ignored_.insert(at + (is_value ? "'" + quoted(message, 0) + "' of '" : "'") + name + "' has no effect here");
  else
    lines_[position] = at + explain(message, place);
}

/// An unknown value ends the parser's work. With a known one in its place, as long, it goes on.
void TextMistakes::find_stand_in(const Place& place, const std::string& name) {
  const pb::FieldDescriptor* const field = place.in == nullptr ? nullptr : place.in->FindFieldByName(name);
  if (field == nullptr || field->enum_type() == nullptr) return;
  std::size_t begin = 0;
  for (int l = 0; l < place.before.line; ++l) begin = text_.find('\n', begin) + 1;
  for (int column = 0; column < place.before.column; ++begin)  // a tab goes on to the next multiple of eight
    column += text_[begin] == '\t' ? 8 - column % 8 : 1;
  std::string value = std::to_string(field->enum_type()->value(0)->number());
  if (value.size() > place.before.text.size()) return;
  value.resize(place.before.text.size(), ' ');
  stand_in_ = {begin, value};
}

bool TextMistakes::next_text(std::string& text) {
  if (stand_in_.second.empty() || lines_.size() == most_mistakes) return false;
  text.replace(stand_in_.first, stand_in_.second.size(), stand_in_.second);
  stand_in_ = {};
  left_out_ = 0;
  return true;
}

void TextMistakes::AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) {
  AddError(line, column, message);
}

std::string TextMistakes::report() const {
  std::string all;
  for (const auto& [position, line] : lines_) all += (all.empty() ? "" : "\n") + line;
  if (left_out_ > 0) all += "\n" + origin_ + ": and " + std::to_string(left_out_) + " more";
  return all;
}

}  // namespace cortado
