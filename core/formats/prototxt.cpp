#include "core/formats/prototxt.h"

#include <google/protobuf/text_format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/text_mistakes.h"

namespace cortado {
namespace pb = google::protobuf;
namespace {
constexpr int most_nested = 100;

/// Protobuf's parser calls itself for every block within a block: too many would overflow the stack.
void check_nesting(const std::string& text, const std::string& origin) {
  const auto ends_line = [](char c) { return c == '\n' || c == '\0'; };
  int nested = 0, line = 1;
  char quote = '\0';  // the kind that a string began with, while in one
  bool comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (ends_line(c)) {
      line += c == '\n' ? 1 : 0;
      quote = '\0';
      comment = false;
    } else if (comment) {
      continue;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
      if (c == '\\' && i + 1 < text.size() && !ends_line(text[i + 1])) ++i;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++nested > most_nested)
        throw ConfigError(origin + ":" + std::to_string(line),
                          "has more than " + std::to_string(most_nested) + " blocks within one another");
    } else if (c == '}' || c == '>' || c == ']') {
      nested = std::max(0, nested - 1);
    }
  }
}
}  // namespace

void parse_text(const std::string& given, const std::string& origin, pb::Message& message) {
  // The mark that some editors put in front of UTF-8 text.
  std::string text = given.compare(0, 3, "\xEF\xBB\xBF") == 0 ? given.substr(3) : given;
  check_nesting(text, origin);
  const std::string whole = text;
  TextMistakes mistakes(whole, origin, *message.GetDescriptor());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  // Unknown fields are then skipped with a warning, so one run finds them all; they are mistakes all the same.
  parser.AllowUnknownField(true);
  do { parser.ParseFromString(text, &message); } while (mistakes.next_text(text));
  for (const std::string& line : mistakes.ignored()) CORTADO_LOG(info) << line;
  if (!mistakes.empty()) throw ConfigError("", mistakes.report());
}

void read_text(const std::string& file, pb::Message& message) { parse_text(read_file(file), file, message); }

std::string to_text(const pb::Message& message) {
  std::string text;
  pb::TextFormat::PrintToString(message, &text);
  return text;
}

void read_net(const std::string& file, caffe::NetParameter& net) {
  if (looks_like_text(file))
    read_text(file, net);
  else
    read_binary(file, net);
  upgrade_net(net, file);
}

}  // namespace cortado
