#pragma once
#include "parallel_io/convert/prepared_set.h"
#include "parallel_io/convert/set_writer.h"

namespace cortado {

/// What conversions share. All are collective over `ranks`, which share the work where the format lets them. A
/// conversion that was killed goes on when it is run again; what is there already is refused.
struct ConvertOptions {
  const Replicas* ranks = nullptr;  ///< null: this process alone
  Progress progress;                ///< may be empty
};

/// One data set of any format, told by its content (open_set), to another.
struct SetOptions {
  OpenOptions open;
  Preparation preparation;
  WriteOptions write;  ///< its `from` is filled in here
};
void convert_set(const std::string& from, const std::string& to, SetOptions set, const ConvertOptions& options);

/// The mean sample of a set of images, prepared as `set` says, to a .binaryproto as Caffe's compute_image_mean writes
/// it
/// (`mean_file` of a transform_param). Returns the mean of each channel. Throws ConfigError for samples that are no
/// images.
std::vector<float> convert_mean(const std::string& from, const std::string& to, const SetOptions& set,
                                const ConvertOptions& options);

/// The conversions below make the data that nets in models/ name: FOLDER/NAME.h5 with data sets `data`
/// (N x C x H x W) and `label` (N), and the list FOLDER/NAME.txt that an HDF5Data layer names as its source.
struct FolderOptions {
  std::string to;      ///< folder, made if it is not there
  bool bytes = false;  ///< store data as uint8 instead of float; then no mean, no scale
  float scale = 1;     ///< factor on stored values, after the mean is gone
};

/// MNIST's four IDX files of `from`, under their usual names with or without .gz, to train and test.
void convert_mnist(const std::string& from, const FolderOptions& folder, const ConvertOptions& options);

/// Generated digits to train and test; as IDX files under MNIST's names with `idx`.
struct DigitOptions {
  i64 train = 20000, test = 4000;
  std::uint64_t seed = 1;
  bool idx = false;
};
void convert_digits(const DigitOptions& digits, const FolderOptions& folder, const ConvertOptions& options);

/// Folders of JPEG and PNG images: FROM/SPLIT/CLASS/IMAGE to SPLIT.h5 for the splits train, val, test that are there,
/// or FROM/CLASS/IMAGE to train.h5. Classes are numbered in order of their names, which go to labels.txt; images are
/// shuffled, because training reads them in file order.
struct ImageOptions {
  enum class Mean { none, pixel, channel };
  Mean mean = Mean::none;  ///< of the training split, subtracted from all; also written to mean.binaryproto
  ImageSize size;          ///< without, all images must have the first one's
  bool rgb = false;        ///< channel order red, green, blue; Caffe's is blue, green, red
};
void convert_images(const std::string& from, const ImageOptions& images, const FolderOptions& folder,
                    const ConvertOptions& options);

}  // namespace cortado
