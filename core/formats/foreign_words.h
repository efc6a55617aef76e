#pragma once
#include <string>

namespace cortado {

/// Knowledge of a field that Caffe's forks have and Caffe does not.
struct ForeignWord {
  bool ignored = false;  ///< its choice does not exist here, so nets mean the same without it
  std::string advice;    ///< the text to write instead
};
/// `block` is the field whose value is the message around it. nullptr means that nothing is known of the field.
const ForeignWord* foreign_word(const std::string& block, const std::string& field);

}  // namespace cortado
