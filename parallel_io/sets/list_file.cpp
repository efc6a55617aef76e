#include "parallel_io/sets/list_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cortado {
namespace {
constexpr i64 stride = 256;                // lines from mark to mark
constexpr i64 piece_bytes = i64{1} << 20;  // read or written at once

/// Goes over the lines of a file from a place on.
class Lines {
 public:
  Lines(const RawFile& file, i64 offset, i64 number)
      : file_(file), end_(file.bytes()), next_(offset), number_(number) {}
  /// The next line that is not empty; false at the end.
  bool next(ListFile::Line& line, i64& offset) {
    do {
      if (number_ == 1 && next_ == 0) skip_mark();
      offset = next_ - static_cast<i64>(piece_.size() - at_);
      if (!fetch(line.text)) return false;
      line.text.erase(line.text.find_last_not_of(" \t\r") + 1);
      line.number = number_++;
    } while (line.text.empty());
    return true;
  }

 private:
  void skip_mark() {
    std::string begin(static_cast<std::size_t>(std::min<i64>(end_, static_cast<i64>(utf8_mark.size()))), '\0');
    file_.read(0, static_cast<i64>(begin.size()), begin.data());
    refuse_utf16(begin, file_.name());
    if (begin == utf8_mark) next_ = static_cast<i64>(utf8_mark.size());
  }
  /// Up to the next line break, which is left out; false at the end.
  bool fetch(std::string& text) {
    text.clear();
    while (at_ < piece_.size() || refill()) {
      const char* const from = piece_.data() + at_;
      const auto* const end = static_cast<const char*>(std::memchr(from, '\n', piece_.size() - at_));
      const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - from) : piece_.size() - at_;
      text.append(from, length);
      at_ += length + (end != nullptr ? 1 : 0);
      if (end != nullptr) return true;
    }
    return !text.empty();
  }
  bool refill() {
    piece_.resize(static_cast<std::size_t>(std::min(size_, end_ - next_)));
    at_ = 0;
    size_ = piece_bytes;
    if (piece_.empty()) return false;
    file_.read(next_, static_cast<i64>(piece_.size()), piece_.data());
    next_ += static_cast<i64>(piece_.size());
    return true;
  }

  const RawFile& file_;
  const i64 end_;
  i64 next_, number_;
  i64 size_ = 16 << 10;  // of the next piece: often one line is wanted, sometimes all
  std::string piece_;
  std::size_t at_ = 0;
};
}  // namespace

ListFile::ListFile(RawFile file, const std::function<void(const Line&)>& look) : file_(std::move(file)) {
  Lines lines(file_, 0, 1);
  i64 offset = 0;
  for (Line line; lines.next(line, offset); ++lines_) {
    if (lines_ % stride == 0) marks_.push_back({offset, line.number});
    look(line);
  }
}

ListFile::Line ListFile::line(i64 index) const {
  const Mark& mark = marks_[static_cast<std::size_t>(index / stride)];
  Lines lines(file_, mark.offset, mark.number);
  Line line;
  i64 offset = 0;
  for (i64 i = index / stride * stride; i <= index; ++i) lines.next(line, offset);
  return line;
}

void ListWriter::add(const std::string& line) {
  text_ += line;
  text_ += '\n';
  if (static_cast<i64>(text_.size()) >= piece_bytes) flush();
}

RawFile ListWriter::finish() && {
  flush();
  return std::move(file_);
}

void ListWriter::flush() {
  file_.write(written_, static_cast<i64>(text_.size()), text_.data());
  written_ += static_cast<i64>(text_.size());
  text_.clear();
}

}  // namespace cortado
