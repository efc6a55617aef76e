#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <climits>

#include "core/base/error.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace pb = google::protobuf;
namespace {
/// Another kind of message often parses: its fields are then unknown, or known ones of another wire type.
bool is_foreign(const pb::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (message.GetDescriptor()->FindFieldByNumber(unknown.field(i).number()) != nullptr) return true;
  std::vector<const pb::FieldDescriptor*> known;
  message.GetReflection()->ListFields(message, &known);
  return known.empty();
}

/// The depth of messages in messages of this kind; 0 means that there are none.
int depth_of(const pb::Descriptor& kind) {
  int depth = 0;
  for (int i = 0; i < kind.field_count(); ++i)
    if (const pb::Descriptor* const nested = kind.field(i)->message_type())
      depth = std::max(depth, 1 + depth_of(*nested));
  return depth;
}

/// A field a line; messages within on that line, but those that hold messages of messages on lines of their own.
void add_lines(const pb::Message& message, const std::string& indent, std::string& text) {
  pb::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields)
    for (int i = 0; i < (field->is_repeated() ? reflection.FieldSize(message, field) : 1); ++i) {
      const bool nested = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
      if (nested && depth_of(*field->message_type()) > 1) {
        text += indent + field->name() + " {\n";
        add_lines(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                       : reflection.GetMessage(message, field),
                  indent + "  ", text);
        text += indent + "}\n";
        continue;
      }
      std::string value;
      printer.PrintFieldValueToString(message, field, field->is_repeated() ? i : -1, &value);
      text += indent + field->name() + (nested ? " { " + value + "}\n" : ": " + value + "\n");
    }
}
}  // namespace

void read_binary(const std::string& file, pb::Message& message) {
  if (looks_like_text(file))
    throw FileError(file, "is empty or a text, where a binary " + message.GetDescriptor()->name() + " is due");
  FileStream stream(file);
  pb::io::IstreamInputStream bytes(&stream);
  pb::io::CodedInputStream coded(&bytes);
  coded.SetTotalBytesLimit(INT_MAX);
  const bool parsed = message.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  if (!parsed || is_foreign(message))
    throw FileError(file, "is truncated or no binary " + message.GetDescriptor()->name());
}

void write_binary(const std::string& file, const pb::Message& message) {
  if (message.ByteSizeLong() > INT_MAX)
    throw FileError(file, "cannot be written: " + std::to_string(message.ByteSizeLong()) +
                              " bytes are more than the 2 GiB that protobuf can hold");
  replace_file(file, [&](int descriptor) { return message.SerializeToFileDescriptor(descriptor); });
}

void write_text(const std::string& file, const pb::Message& message) {
  std::string text;
  add_lines(message, "", text);
  replace_file(file, [&](int descriptor) {
    pb::io::FileOutputStream out(descriptor);
    pb::io::CodedOutputStream(&out).WriteString(text);
    return out.Flush();
  });
}

}  // namespace cortado
