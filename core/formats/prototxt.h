#pragma once
#include <string>

namespace google::protobuf {
class Message;
}
namespace caffe {
class NetParameter;
class SolverParameter;
}  // namespace caffe

namespace cortado {

/// Reads a text protobuf. Throws FileError (absent) or ConfigError with a line "FILE:LINE:COLUMN: what" for every
/// mistake found. Mistakes are unknown fields, bad enums, wrong types and missing braces; a close name or the legal
/// values are given. A text of another kind, such as a net in place of a solver, is one mistake, told as such.
void read_text(const std::string& file, google::protobuf::Message& message);
/// The same for text in memory; `origin` stands for the file in errors.
void parse_text(const std::string& text, const std::string& origin, google::protobuf::Message& message);

/// Read or write a binary protobuf of up to 2 GiB, protobuf's own limit. They throw FileError for absent, truncated and
/// foreign files. Writing goes to a file beside `file` that is then renamed, so `file` is never half written.
void read_binary(const std::string& file, google::protobuf::Message& message);
void write_binary(const std::string& file, const google::protobuf::Message& message);
/// Writes a message as text, a field per line. Messages that hold messages of messages (of a kind that is not
/// recursive) spread over several lines.
void write_text(const std::string& file, const google::protobuf::Message& message);

/// The text of a message as people write it: indented, nested messages over several lines.
std::string to_text(const google::protobuf::Message& message);

/// Reads a net or its weights from text or binary, by content, and upgrades it.
void read_net(const std::string& file, caffe::NetParameter& net);
/// Reads a solver from text. Nets within it are upgraded, and `solver_type` becomes `type`. A snapshot prefix that is
/// missing or a folder is completed from the file's name, as Caffe does. Throws ConfigError, FileError.
void read_solver(const std::string& file, caffe::SolverParameter& solver);

/// The solver's `type`, or the one that the deprecated `solver_type` stands for.
std::string solver_type_name(const caffe::SolverParameter& solver);

/// Turns messages of older versions of Caffe into today's. `layers` (V1, V0) become `layer`. `input` with `input_dim`
/// or `input_shape` becomes an Input layer. Learning rates of BatchNorm's statistics become 0. Throws ConfigError
/// naming `origin` where that is impossible.
void upgrade_net(caffe::NetParameter& net, const std::string& origin);
/// The same for the nets within a solver, and `solver_type` turned into `type`.
void upgrade_solver(caffe::SolverParameter& solver, const std::string& origin);

}  // namespace cortado
