#pragma once
#include <cstddef>

#include "parallel_io/sets/image.h"

namespace cortado {

/// The orientation of a photograph's pixels in its file, the value of EXIF's tag Orientation:
///   1 as seen, 2 mirrored left to right, 3 turned by 180 degrees, 4 mirrored top to bottom,
///   5 to 8 the same with rows and columns exchanged
/// Cameras that were held upright write 6 or 8.
int exif_orientation(const unsigned char* jpeg, std::size_t count);

/// True if that orientation exchanges height and width.
bool exchanges_sides(int orientation);

/// Turns an image upright, as OpenCV's imread and imdecode do.
Image oriented(Image image, int orientation);

}  // namespace cortado
