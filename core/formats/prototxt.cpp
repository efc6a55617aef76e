#include "core/formats/prototxt.h"

#include <google/protobuf/text_format.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/text_mistakes.h"

namespace cortado {
namespace pb = google::protobuf;

void parse_text(const std::string& text, const std::string& origin, pb::Message& message) {
  TextMistakes mistakes(text, origin, *message.GetDescriptor());
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  // Unknown fields are then skipped with a warning, so one run finds them all; they are mistakes all the same.
  parser.AllowUnknownField(true);
  parser.ParseFromString(text, &message);
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
