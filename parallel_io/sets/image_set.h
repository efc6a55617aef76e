#pragma once
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/list_file.h"

namespace cortado {

/// JPEG and PNG files with labels, in a list or in folders.
///
/// A list (Caffe's ImageData source) has a line per image: its path, then its label. Instead of one label there may be
/// several, or a PNG image with one for each pixel (OpenOptions::any_label). A path starts at `root`, or at the working
/// directory or, if the file is not there, at the list's own folder.
///
/// A folder is FOLDER/CLASS/IMAGE. Classes are numbered in order of their names, images in order of theirs.
class ImageSet : public DataSet {
 public:
  ImageSet(const std::string& path, const OpenOptions& options);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override { return entry(sample).file; }
  void add_known(Digest& digest) const override { digest.add(known_.text()); }

 private:
  /// One line of a list.
  struct Entry {
    std::string file;
    std::vector<float> labels;
    std::string label_image;
  };
  ListFile open_list(const std::string& path);
  ListFile list_folder(const std::string& path, const std::vector<std::string>& classes);
  Entry parse(const ListFile::Line& line) const;
  Entry entry(i64 sample) const;
  std::string found(const std::string& file) const;
  void expect_there(i64 sample, const std::string& file) const;
  void check_labels(const Entry& entry, i64 line);
  void settle_labels(const OpenOptions& options);

  void know(const Entry& entry);

  std::string path_, root_;
  Digest known_;            // names of files, without folders, and labels
  std::size_t labels_ = 0;  // labels of a line; 0 means that no line was read
  bool label_images_ = false;
  const ListFile list_;  // for a folder it is generated
};

}  // namespace cortado
