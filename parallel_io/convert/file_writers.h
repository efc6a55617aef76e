#pragma once
#include "core/base/file.h"
#include "parallel_io/convert/set_writer.h"
#include "parallel_io/feed/worker_pool.h"

namespace cortado {

/// Writes a list TO of images and labels, and the images beside it in a folder named like the list:
/// FOLDER/LABEL/NUMBER. Encoded images stay as they are; others become PNG. The list is written last.
class ImageWriter : public SetWriter {
 public:
  /// Throws ConfigError where the format cannot hold the set, or `to` is no name for it.
  static void expect_fits(const DataSet& set, const std::string& to);
  ImageWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks);
  i64 block() const override { return 256; }
  bool is_done(i64 block) const override;
  bool takes_many() const override { return true; }
  void write(i64 first, i64 count, const std::vector<Values>& values) override;
  void finish_block(i64 block) override;
  void finish() override;

 private:
  std::string part(i64 block) const;
  std::string write_image(i64 sample, int label, const std::uint8_t* from, i64 bytes) const;

  const DataSet& set_;
  const std::string to_, folder_;
  const Replicas& ranks_;
  Unfinished note_;
  WorkerPool workers_;
  std::string lines_;  // the lines of the block at hand
};

/// A file that is written from front to back in small pieces. `finish` gives it its name.
class GrowingFile {
 public:
  explicit GrowingFile(const std::string& name) : file_(name) {}
  void append(const void* from, i64 bytes);
  /// Gives the file its name. Throws FileError if the name is taken, unless `replace`.
  void finish(bool replace = false);

 private:
  static constexpr std::size_t buffer_bytes = 1 << 20;
  void flush();
  NewFile file_;
  std::string buffer_;
};

/// The common part of formats without places for their samples. One rank writes from front to back, and begins anew
/// each time.
class SerialWriter : public SetWriter {
 public:
  i64 block() const override { return set_.samples(); }
  bool is_done(i64) const override { return false; }
  void finish_block(i64) override {}
  void finish() override;

 protected:
  SerialWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks,
               const std::vector<std::string>& works)
      : set_(set), ranks_(ranks), note_(to, plan, ranks, works) {}
  bool goes_on() const { return note_.goes_on(); }  ///< whether this was begun before
  /// Gives the files their names, on rank 0.
  virtual void name_files() = 0;

  const DataSet& set_;
  const Replicas& ranks_;

 private:
  Unfinished note_;
};

/// Writes MNIST's pair of IDX files. TO is the name of the images' file.
class IdxWriter : public SerialWriter {
 public:
  /// Throws ConfigError where the format cannot hold the set, or `to` is no name for it.
  static void expect_fits(const DataSet& set, const std::string& to);
  IdxWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks);
  void write(i64 first, i64 count, const std::vector<Values>& values) override;

 private:
  void name_files() override;
  std::unique_ptr<GrowingFile> images_, labels_;  // on rank 0
};

/// Writes one binary file in CIFAR-10's format.
class CifarWriter : public SerialWriter {
 public:
  /// Throws ConfigError where the format cannot hold the set, or `to` is no name for it.
  static void expect_fits(const DataSet& set, const std::string& to);
  CifarWriter(const DataSet& set, const std::string& to, const WritePlan& plan, const Replicas& ranks);
  void write(i64 first, i64 count, const std::vector<Values>& values) override;

 private:
  void name_files() override { file_->finish(); }
  std::unique_ptr<GrowingFile> file_;  // on rank 0
};

}  // namespace cortado
