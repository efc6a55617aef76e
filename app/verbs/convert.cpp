#include "parallel_io/convert/convert.h"

#include <cstdio>
#include <map>

#include "app/report/progress_bar.h"
#include "app/session/session.h"
#include "core/base/error.h"
#include "core/base/log.h"

namespace cortado {
namespace {
/// MNIST's and the digits' values lie in [0, 1), as Caffe's LeNet wants them.
constexpr double unit_scale = 0.00390625;

Format format_of(const std::string& name) {
  static const std::map<std::string, Format> formats = {{"hdf5", Format::hdf5}, {"striped", Format::striped},
                                                        {"lmdb", Format::lmdb}, {"images", Format::images},
                                                        {"idx", Format::idx},   {"cifar", Format::cifar}};
  return formats.at(name);
}

/// "WIDTHxHEIGHT"; empty: zeros.
ImageSize size_of(const Options::Convert& c) {
  ImageSize size;
  size.antialias = c.antialias;
  char rest = 0;
  const bool good = std::sscanf(c.resize.c_str(), "%dx%d%c", &size.width, &size.height, &rest) == 2;
  if (!c.resize.empty() && (!good || size.width < 1 || size.height < 1))
    throw ConfigError("command line", "--resize is '" + c.resize + "'", "give WIDTHxHEIGHT, such as 227x227");
  if (c.resize.empty() && c.antialias)
    throw ConfigError("command line", "--antialias is of images that are resized", "give --resize WIDTHxHEIGHT");
  return size;
}

/// What is read, and at what size.
SetOptions source_options(const Options::Convert& c) {
  SetOptions set;
  set.open.root = c.root;
  set.open.channels = c.grey ? 1 : 0;
  set.preparation.size = size_of(c);
  return set;
}

SetOptions set_options(const Options::Convert& c) {
  SetOptions set = source_options(c);
  set.open.verify = c.verify;
  set.preparation.decode = !c.encoded;
  set.preparation.shuffle = c.shuffle;
  set.preparation.seed = c.seed;
  set.write.format = format_of(c.format);
  set.write.stripes = c.stripes;
  set.write.stripe_bytes = static_cast<i64>(c.stripe_bytes);
  set.write.folders = c.folders;
  if (c.stripe_bytes < 1) throw ConfigError("command line", "--stripe-size must be at least 1");
  return set;
}

ImageOptions image_options(const Options::Convert& c) {
  ImageOptions images;
  images.rgb = c.rgb;
  images.mean = c.mean == "pixel"     ? ImageOptions::Mean::pixel
                : c.mean == "channel" ? ImageOptions::Mean::channel
                                      : ImageOptions::Mean::none;
  images.size = size_of(c);
  return images;
}

FolderOptions folder_options(const Options::Convert& c) {
  FolderOptions folder;
  folder.to = c.to;
  folder.bytes = c.type == "uint8";
  if (folder.bytes && c.scale != 0) throw ConfigError("command line", "--scale needs --type float");
  const bool grey = c.kind == "mnist" || c.kind == "digits";
  folder.scale = static_cast<float>(c.scale != 0 ? c.scale : grey && !folder.bytes ? unit_scale : 1);
  return folder;
}
}  // namespace

int convert(const MpiJob& job, const Options& options) {
  const auto& c = options.convert;
  ConvertOptions with;
  with.ranks = &job.replicas();
  ProgressBar bar("converting");
  if (job.rank() == 0) with.progress = [&](i64 done, i64 total) { bar.show(done, total); };
  if (c.kind == "set") {
    convert_set(c.from, c.to, set_options(c), with);
  } else if (c.kind == "mean") {
    const auto mean = convert_mean(c.from, c.to, source_options(c), with);
    for (std::size_t k = 0; k < mean.size(); ++k) CORTADO_LOG(info) << "mean_value channel [" << k << "]: " << mean[k];
  } else if (c.kind == "mnist") {
    convert_mnist(c.from, folder_options(c), with);
  } else if (c.kind == "digits") {
    DigitOptions digits;
    if (c.train > 0) digits.train = c.train;
    if (c.test > 0) digits.test = c.test;
    digits.seed = c.seed;
    digits.idx = c.idx;
    convert_digits(digits, folder_options(c), with);
  } else {
    convert_images(c.from, image_options(c), folder_options(c), with);
  }
  CORTADO_LOG(info) << "Wrote " << c.to;
  return 0;
}

}  // namespace cortado
