#pragma once
#include <string>

#include "app/command_line/flags.h"
#include "parallel_io/sets/image.h"

namespace cortado {

/// --resize, --antialias and --crop.
struct ResizeFlags {
  std::string resize, crop;
  bool antialias = false;

  void add_to(Flags& flags);
  /// Zeros where nothing is given. Throws ConfigError for texts that say no size.
  ImageSize size() const;
};

/// Sets the sides that a --resize says. An empty one changes nothing. Throws ConfigError for a text that is neither
/// WIDTHxHEIGHT nor short:N.
void set_resize(const std::string& resize, ImageSize& size);

}  // namespace cortado
