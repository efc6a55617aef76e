#include "core/formats/prototxt.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mistakes.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/other_kind.h"
#include "core/formats/text_mistakes.h"
#include "core/formats/weight_files.h"

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
/// The first field, "layer 'ip': weight_filler.std", that is not a number; empty: all are.
std::string first_nan(const pb::Message& message) {
  const pb::Reflection& values = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  values.ListFields(message, &fields);
  for (const auto* const field : fields) {
    const int count = field->is_repeated() ? values.FieldSize(message, field) : 1;
    const auto type = field->cpp_type();
    for (int i = 0; i < count; ++i) {
      if (type == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        const pb::Message& inner =
            field->is_repeated() ? values.GetRepeatedMessage(message, field, i) : values.GetMessage(message, field);
        const std::string found = first_nan(inner);
        if (found.empty()) continue;
        const auto* const layer = dynamic_cast<const caffe::LayerParameter*>(&inner);
        return (layer != nullptr ? "layer '" + layer->name() + "': " : field->name() + ".") + found;
      }
      double number = 0;
      if (type == pb::FieldDescriptor::CPPTYPE_FLOAT)
        number = field->is_repeated() ? values.GetRepeatedFloat(message, field, i) : values.GetFloat(message, field);
      if (type == pb::FieldDescriptor::CPPTYPE_DOUBLE)
        number = field->is_repeated() ? values.GetRepeatedDouble(message, field, i) : values.GetDouble(message, field);
      if (std::isnan(number)) return field->name();
    }
  }
  return "";
}
}  // namespace

void parse_text(const std::string& given, const std::string& origin, pb::Message& message) {
  check_nesting(given, origin);
  std::string text = given;
  TextMistakes mistakes(given, origin, *message.GetDescriptor());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  // Unknown fields are then skipped with a warning, so one run finds them all; they are mistakes all the same.
  parser.AllowUnknownField(true);
  do { parser.ParseFromString(text, &message); } while (mistakes.next_text(text));
  const std::string other = mistakes.count() > 0 ? other_kind(given, origin, message) : "";
  if (!other.empty()) throw Mistakes({other}, mistakes.count());
  for (const std::string& line : mistakes.ignored()) CORTADO_LOG(info) << line;
  if (mistakes.count() > 0) throw Mistakes(mistakes.report(), mistakes.count());
  const std::string nan = first_nan(message);
  if (!nan.empty()) throw ConfigError(origin, nan + " is not a number", "write one");
}

void read_text(const std::string& file, pb::Message& message) {
  if (!looks_like_text(file))
    throw ConfigError(file, "is a binary file, where a text is due",
                      "give the .prototxt; -weights takes a .caffemodel");
  parse_text(read_file(file), file, message);
}

std::string to_text(const pb::Message& message) {
  std::string text;
  pb::TextFormat::PrintToString(message, &text);
  return text;
}

void read_net(const std::string& file, caffe::NetParameter& net) {
  if (looks_like_text(file))
    read_text(file, net);
  else if (is_hdf5(file))
    throw ConfigError(file, "is an HDF5 file, where a net is due", "give the .prototxt");
  else
    read_binary(file, net);
  upgrade_net(net, file);
}

}  // namespace cortado
