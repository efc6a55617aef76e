#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/machine/core_group.h"

namespace cortado {

/// Makes numbers smaller to send, on the compute cluster. A code is memory of `encoded_bytes(n)` that a message can
/// carry as it is: words of scales first, then those of values. Blocks of `block()` values are independent of each
/// other. So a range that begins at a multiple of it encodes to the same words alone.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string name() const = 0;
  virtual i64 block() const = 0;
  virtual i64 encoded_bytes(i64 n) const = 0;
  /// True if encode keeps its error, in n floats of state that begin as zeros (error feedback).
  virtual bool needs_state() const = 0;

  /// The size from which on values cannot be coded, and become smaller ones: 2 for three_in_one, else infinity.
  virtual float limit() const = 0;

  /// Queues encoding of n values. `state` may be nullptr if needs_state() is false. `scale`, if not 0, is the scale of
  /// all values, in place of one for each block (8-bit types) or run (e4m3, e5m2, threshold). All memory is the
  /// cluster's.
  virtual void encode(CoreGroup& group, const float* values, i64 n, float* state, void* code,
                      float scale = 0) const = 0;
  /// Queues values = decoded.
  virtual void decode(CoreGroup& group, const void* code, i64 n, float* values) const = 0;
  /// Queues values += decoded.
  virtual void decode_add(CoreGroup& group, const void* code, i64 n, float* values) const = 0;
};

/// All codecs: fp32, bf16, fp16, the four 8-bit types, e4m3, e5m2, one_bit, threshold, three_in_one. Each has a file
/// beside this one, or shares one.
const std::vector<const Codec*>& codecs();
/// The codec of that name. Throws ConfigError that lists the names.
const Codec& find_codec(const std::string& name);

}  // namespace cortado
