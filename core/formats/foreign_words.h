#pragma once
#include <string>

namespace cortado {

/// Knowledge of a field that Caffe's forks have and Caffe does not.
struct ForeignWord {
  bool ignored = false;  ///< its choice does not exist here, so nets mean the same without it
  std::string advice;    ///< the text to write instead
};
/// `block` is the field whose value is the message around it. For a value of an enumeration, `block` is "block.field"
/// and `field` the value. nullptr means that nothing is known of the field.
const ForeignWord* foreign_word(const std::string& block, const std::string& field);

/// The advice for a layer type that Caffe's forks have: what to write instead, or what to do without it. It is empty
/// for types of which nothing is known.
std::string foreign_type(const std::string& type);

/// The advice where no layer computes something.
std::string end_of_net();

}  // namespace cortado
