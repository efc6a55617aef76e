#pragma once
#include <string>

namespace cortado {

/// What is known of a field that Caffe's forks have and Caffe has not.
struct ForeignWord {
  bool ignored = false;  ///< what it chooses does not exist here: nets mean the same without it
  std::string advice;    ///< what to write instead
};
/// `block` is the field that the message around it is the value of. Null: nothing is known of it.
const ForeignWord* foreign_word(const std::string& block, const std::string& field);

}  // namespace cortado
