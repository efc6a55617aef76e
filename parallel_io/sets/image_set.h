#pragma once
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// JPEG and PNG files with labels. As a list (Caffe's ImageData source): a line per image, its path, then its label; a
/// path is taken from `root`, or from the working directory or, if it is not there, from the list's own folder. As a
/// folder: FOLDER/CLASS/IMAGE, classes numbered in order of their names, images in order of theirs.
class ImageSet : public DataSet {
 public:
  /// What stands in one line of a list.
  struct Entry {
    std::string file;
    int label;
  };
  ImageSet(const std::string& path, const OpenOptions& options);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override { return entries_[static_cast<std::size_t>(sample)].file; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void read_list(const std::string& path, const std::string& root);
  void read_folder(const std::string& path, const std::vector<std::string>& classes);

  std::vector<Entry> entries_;
};

}  // namespace cortado
