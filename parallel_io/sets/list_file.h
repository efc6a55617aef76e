#pragma once
#include <functional>
#include <string>
#include <vector>

#include "parallel_io/sets/raw_file.h"

namespace cortado {

/// The lines of a text, of any number; memory keeps a mark every so many. Empty lines do not count, and a line does not
/// include blanks at its end. Any number of threads may read.
class ListFile {
 public:
  struct Line {
    std::string text;
    i64 number = 0;  ///< in the file, from 1, empty lines counted too
  };
  /// Calls `look` with each line, which may throw.
  ListFile(RawFile file, const std::function<void(const Line&)>& look);
  i64 lines() const { return lines_; }
  Line line(i64 index) const;

 private:
  /// The position of a line whose index is a multiple of `stride`.
  struct Mark {
    i64 offset, number;
  };
  RawFile file_;
  std::vector<Mark> marks_;
  i64 lines_ = 0;
};

/// A text that is written line by line to an unnamed file. Afterwards it can be read as a ListFile.
class ListWriter {
 public:
  /// `name` is for messages.
  explicit ListWriter(const std::string& name) : file_(RawFile::unnamed(name)) {}
  void add(const std::string& line);
  RawFile finish() &&;

 private:
  void flush();
  RawFile file_;
  std::string text_;
  i64 written_ = 0;
};

}  // namespace cortado
