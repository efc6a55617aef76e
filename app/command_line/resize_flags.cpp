#include "app/command_line/resize_flags.h"

#include <cstdio>

#include "core/base/error.h"

namespace cortado {
namespace {
/// True if the text is WIDTHxHEIGHT.
bool reads_sides(const std::string& text, int& width, int& height) {
  char rest = 0;
  return std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) == 2 && width > 0 && height > 0;
}
/// True if the text is `format` with a whole number above 0.
bool reads_number(const std::string& text, const std::string& format, int& number) {
  char rest = 0;
  return std::sscanf(text.c_str(), (format + "%d%c").c_str(), &number, &rest) == 1 && number > 0;
}
}  // namespace

void set_resize(const std::string& resize, ImageSize& size) {
  if (resize.empty() || reads_sides(resize, size.width, size.height)) return;
  size.width = size.height = 0;
  if (!reads_number(resize, "short:", size.shorter))
    throw ConfigError("command line", "--resize is '" + resize + "'",
                      "give WIDTHxHEIGHT, such as 227x227, or short:256 for the shorter side");
}

void ResizeFlags::add_to(Flags& flags) {
  flags.add("--resize", resize,
            "Images to WIDTHxHEIGHT, or their shorter side to N pixels by short:N; bilinearly, as OpenCV and Caffe do");
  flags.add_switch("--antialias", antialias,
                   "Resize by the mean of all pixels that one covers; for WIDTHxHEIGHT, JPEGs are decoded at a smaller "
                   "scale");
  flags.add("--crop", crop, "Then cut N x N or WIDTHxHEIGHT pixels out of the middle");
}

ImageSize ResizeFlags::size() const {
  ImageSize size;
  size.antialias = antialias;
  set_resize(resize, size);
  if (resize.empty() && antialias)
    throw ConfigError("command line", "--antialias is of images that are resized", "give --resize WIDTHxHEIGHT");
  if (crop.empty() || reads_sides(crop, size.crop_width, size.crop_height)) return size;
  if (!reads_number(crop, "", size.crop_height))
    throw ConfigError("command line", "--crop is '" + crop + "'", "give N or WIDTHxHEIGHT, such as 224");
  size.crop_width = size.crop_height;
  return size;
}

}  // namespace cortado
