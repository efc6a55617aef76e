#pragma once
#include <string>

namespace google::protobuf {
class Message;
}

namespace cortado {

/// Says that a text which is not of `wanted`'s kind reads as one of another: "is a net, no solver", and what to give
/// instead. Empty if it reads as none of Cortado's kinds, or as `wanted` at least as well.
std::string other_kind(const std::string& text, const std::string& file, const google::protobuf::Message& wanted);

}  // namespace cortado
