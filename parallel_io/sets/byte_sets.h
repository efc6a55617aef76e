#pragma once
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/idx.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {

/// MNIST's pair of IDX files. The given one has images (N x H x W bytes). The labels' name has "labels" and "idx1" in
/// place of "images" and "idx3".
class IdxSet : public DataSet {
 public:
  explicit IdxSet(const std::string& images);
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  void add_known(Digest& digest) const override;
  std::string where(i64 sample) const override { return file_ + ", sample " + std::to_string(sample); }

 private:
  std::string file_;
  IdxFile images_, labels_;
};

/// The file of labels for a file of images. Throws FileError if the name of the images has no such form.
std::string idx_labels_of(const std::string& images);

/// CIFAR-10's binary files: records of a label byte and 3 x 32 x 32 bytes, which the file keeps as red, green, blue. A
/// folder stands for its data_batch_*.bin, in order of their names.
class CifarSet : public DataSet {
 public:
  static constexpr i64 record_bytes = 1 + 3 * 32 * 32;
  explicit CifarSet(const std::string& path);
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override;

 private:
  std::vector<RawFile> files_;
  std::vector<i64> first_ = {0};  // number of each file's first sample, and the total
};

/// Exchanges the first and the third of three channels.
void swap_red_and_blue(std::uint8_t* image, i64 plane);

}  // namespace cortado
