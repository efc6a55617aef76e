#pragma once
#include "parallel_io/convert/prepared_set.h"
#include "parallel_io/convert/set_writer.h"

namespace cortado {

/// The common options of conversions. All conversions are collective over `ranks`, which share the work where the
/// format lets them. A killed conversion goes on when it is run again. Existing results are refused.
struct ConvertOptions {
  const Replicas* ranks = nullptr;  ///< nullptr means this process alone
  Progress progress;                ///< may be empty
};

/// Options to convert one data set of any format, recognised by its content (open_set), to another.
struct SetOptions {
  OpenOptions open;
  Preparation preparation;
  WriteOptions write;  ///< its `from` is filled in here
};
void convert_set(const std::string& from, const std::string& to, SetOptions set, const ConvertOptions& options);

/// Writes the mean sample of a set of images, prepared as `set` says, to a .binaryproto as Caffe's compute_image_mean
/// does (`mean_file` of a transform_param). Returns the mean of each channel. Throws ConfigError for samples that are
/// no images.
std::vector<float> convert_mean(const std::string& from, const std::string& to, const SetOptions& set,
                                const ConvertOptions& options);

/// Options of the conversions below, which make the data for nets in models/. FOLDER/NAME.h5 has data sets `data` (N x
/// C x H x W) and `label` (N). FOLDER/NAME.txt is a list, the source of an HDF5Data layer.
struct FolderOptions {
  std::string to;      ///< folder; made if it is absent
  bool bytes = false;  ///< store data as uint8 instead of float; then no mean, no scale
  float scale = 1;     ///< factor on stored values, after the mean is subtracted
};

/// Converts MNIST's four IDX files in `from`, under their usual names with or without .gz, to train and test.
void convert_mnist(const std::string& from, const FolderOptions& folder, const ConvertOptions& options);

/// Generated digits for train and test; `idx` makes IDX files under MNIST's names.
struct DigitOptions {
  i64 train = 20000, test = 4000;
  std::uint64_t seed = 1;
  bool idx = false;
};
void convert_digits(const DigitOptions& digits, const FolderOptions& folder, const ConvertOptions& options);

/// Options for folders of JPEG and PNG images. FROM/SPLIT/CLASS/IMAGE become SPLIT.h5 for the existing splits among
/// train, val and test; FROM/CLASS/IMAGE become train.h5. Classes are numbered in order of their names, which go to
/// labels.txt. Images are shuffled, because training reads them in file order.
struct ImageOptions {
  enum class Mean { none, pixel, channel };
  Mean mean = Mean::none;  ///< of the training split; it is subtracted from all, and written to mean.binaryproto
  ImageSize size;          ///< without it, all images must have the first one's size
  bool rgb = false;        ///< channel order red, green, blue; Caffe's is blue, green, red
};
void convert_images(const std::string& from, const ImageOptions& images, const FolderOptions& folder,
                    const ConvertOptions& options);

}  // namespace cortado
