#include "core/formats/text_mistakes.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/base/mistakes.h"
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
constexpr std::size_t most_kinds = 50;  // to find the place of one, the text is read again
constexpr std::size_t most_lines = 4;   // that are named for one kind

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

/// Goes through the tokens of a text.
class TextMistakes::Walk {
 public:
  explicit Walk(const TextMistakes& mistakes)
      : root_(mistakes.root_),
        stream_(mistakes.text_.data(), static_cast<int>(mistakes.text_.size())),
        tokens_(&stream_, &silent_) {
    tokens_.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  }

  /// False behind the last token.
  bool next() {
    const auto& last = tokens_.current();  // before the first call, a token without text
    if (last.type == pb::io::Tokenizer::TYPE_IDENTIFIER && place_.before.text != ":") name_ = last.text;
    if (last.text == "{" || last.text == "<") place_.open.push_back({name_, last.line});
    if ((last.text == "}" || last.text == ">") && !place_.open.empty()) place_.open.pop_back();
    place_.before = last;
    return tokens_.Next();
  }
  const pb::io::Tokenizer::Token& token() { return tokens_.current(); }
  /// What stands around the token.
  Place place() const {
    Place place = place_;
    if (place.before.text == ":") place.field = name_;
    place.in = &root_;
    for (const auto& block : place.open) {
      const pb::FieldDescriptor* field = place.in == nullptr ? nullptr : place.in->FindFieldByName(block.name);
      place.in = field == nullptr ? nullptr : field->message_type();
    }
    return place;
  }
  bool is_value_of(const std::string& field) const { return place_.before.text == ":" && name_ == field; }

 private:
  struct Silent : pb::io::ErrorCollector {
    void AddError(int, pb::io::ColumnNumber, const std::string&) override {}
  };

  const pb::Descriptor& root_;
  Silent silent_;
  pb::io::ArrayInputStream stream_;
  pb::io::Tokenizer tokens_;
  Place place_;
  std::string name_;
};

TextMistakes::Place TextMistakes::find(int line, int column) const {
  Walk walk(*this);
  bool reached = false;
  while (!reached && walk.next())
    reached = walk.token().line > line || (walk.token().line == line && walk.token().column >= column);
  Place place = walk.place();
  place.at_end = !reached;
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
    const std::string name = quoted(message, 1), value = quoted(message, 0);
    const std::string what = "'" + value + "' is no value of '" + name + "'";
    if (const ForeignWord* const word = foreign_word(block_of(place) + "." + name, value))
      return what + " (" + word->advice + ")";
    const pb::FieldDescriptor* field = place.in == nullptr ? nullptr : place.in->FindFieldByName(name);
    const bool known = field != nullptr && field->enum_type() != nullptr;
    return what + (known ? " (choose from " + values_of(*field->enum_type()) + ")" : "");
  }
  const std::string no_ascii = "Interpreting non ascii codepoint ";
  if (starts_with(message, no_ascii))
    return "byte " + message.substr(no_ascii.size(), message.find_last_not_of('.') + 1 - no_ascii.size()) +
           " stands outside quotes, where all is ASCII (is this the right file? names of other letters need quotes)";
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
  if (line >= 0 && position <= last_) return;  // the text before a stand-in is parsed again
  if (line >= 0) last_ = position;
  // Protobuf names the token after an unknown field or value.
  const bool is_value = starts_with(message, "Unknown enumeration");
  const bool one_late = is_value || is_unknown_field(message);
  const auto same = by_message_.find(message);
  if (is_unknown_field(message) && same != by_message_.end()) {
    Kind& kind = kinds_[same->second];
    ++kind.times;
    if (kind.lines.size() < most_lines) kind.lines.push_back(std::to_string(line + 1));
    return;
  }
  if (kinds_.size() == most_kinds) {
    ++left_out_;
    return;
  }
  Kind& kind = kinds_[position];
  kind.times = 1;
  if (line < 0) {
    kind.text = origin_ + ": " + message;
    return;
  }
  by_message_[message] = position;
  const Place place = find(line, column);
  const int l = one_late ? place.before.line : line, c = one_late ? place.before.column : column;
  const std::string at = origin_ + ":" + std::to_string(l + 1) + ":" + std::to_string(c + 1) + ": ";
  const std::string name = one_late ? quoted(message, 1) : "";
  const ForeignWord* const word = name.empty() ? nullptr : foreign_word(block_of(place), name);
  kind.is_ignored = word != nullptr && word->ignored;
  kind.text =
      at + (kind.is_ignored ? (is_value ? "'" + quoted(message, 0) + "' of '" : "'") + name + "' has no effect here"
                            : explain(message, place));
  if (is_value) find_stand_ins(place, name, kind);
}

/// An unknown value ends the parser's work. With a known one in its place, as long, it goes on; so also where the same
/// value stands behind it.
void TextMistakes::find_stand_ins(const Place& place, const std::string& name, Kind& kind) {
  const pb::FieldDescriptor* const field = place.in == nullptr ? nullptr : place.in->FindFieldByName(name);
  if (field == nullptr || field->enum_type() == nullptr) return;
  std::string value = std::to_string(field->enum_type()->value(0)->number());
  if (value.size() > place.before.text.size()) return;
  value.resize(place.before.text.size(), ' ');
  std::size_t begin = 0;  // of the line
  int at_line = 0;
  for (Walk walk(*this); walk.next();) {
    const auto& token = walk.token();
    const bool is_first = token.line == place.before.line && token.column == place.before.column;
    if (stand_ins_.empty() && !is_first) continue;
    const bool same =
        is_first || (token.text == place.before.text && walk.is_value_of(name) && walk.place().in == place.in);
    if (!same) continue;
    for (; at_line < token.line; ++at_line) begin = text_.find('\n', begin) + 1;
    std::size_t here = begin;
    for (int column = 0; column < token.column; ++here)  // a tab goes on to the next multiple of eight
      column += text_[here] == '\t' ? 8 - column % 8 : 1;
    stand_ins_.emplace_back(here, value);
    if (is_first) continue;
    ++kind.times;
    if (kind.lines.size() < most_lines) kind.lines.push_back(std::to_string(token.line + 1));
  }
}

bool TextMistakes::next_text(std::string& text) {
  if (stand_ins_.empty() || kinds_.size() == most_kinds) return false;
  for (const auto& [begin, value] : stand_ins_) text.replace(begin, value.size(), value);
  stand_ins_.clear();
  return true;
}

void TextMistakes::AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) {
  AddError(line, column, message);
}

std::vector<std::string> TextMistakes::report(bool ignored) const {
  std::vector<std::string> lines;
  for (const auto& [position, kind] : kinds_)
    if (kind.is_ignored == ignored)
      lines.push_back(kind.text + (kind.times > 1 ? (kind.times > 2 ? "; also in lines " : "; also in line ") +
                                                        listed(kind.lines, kind.times - 1)
                                                  : ""));
  if (!ignored && left_out_ > 0) lines.push_back(origin_ + ": and " + std::to_string(left_out_) + " more");
  return lines;
}

std::size_t TextMistakes::count() const {
  std::size_t count = left_out_;
  for (const auto& [position, kind] : kinds_) count += kind.is_ignored ? 0 : kind.times;
  return count;
}

}  // namespace cortado
