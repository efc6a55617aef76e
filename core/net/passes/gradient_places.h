#pragma once
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// A blob between layers whose gradient may share memory with others', and where it begins in what they share.
struct GradientPlace {
  Blob* blob;
  i64 offset;  ///< in floats
};

/// Places for the gradients of blobs between layers. Backward writes a gradient in the blob's last consumer and reads
/// it in its producer; gradients that are not needed at the same time may lie in the same place. Left out: losses,
/// blobs whose gradient some layer does not write, and gradients that join another's, where that is.
std::vector<GradientPlace> gradient_places(const std::vector<Net::Entry>& layers);

/// Floats that the places take together.
i64 floats_of(const std::vector<GradientPlace>& places);

}  // namespace cortado
