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

/// Reads a text protobuf. Throws FileError (absent) or ConfigError "FILE:LINE:COLUMN: what" for every mistake found
/// (unknown field, bad enum, wrong type; a close name is suggested).
void read_text(const std::string& file, google::protobuf::Message& message);
/// The same for text in memory; `origin` stands for the file in errors.
void parse_text(const std::string& text, const std::string& origin, google::protobuf::Message& message);

/// Reads / writes a binary protobuf of any size. Throws FileError for absent, truncated and foreign files. Writing goes
/// to a file beside `file` that is then renamed.
void read_binary(const std::string& file, google::protobuf::Message& message);
void write_binary(const std::string& file, const google::protobuf::Message& message);

/// A net from text or binary, by content. Legacy `input`/`input_dim`/`input_shape` fields become an Input layer.
void read_net(const std::string& file, caffe::NetParameter& net);
/// A solver from text, defaults and deprecated enum fields resolved.
void read_solver(const std::string& file, caffe::SolverParameter& solver);

}  // namespace cortado
