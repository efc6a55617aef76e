#include "parallel_io/sets/window_set.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/random.h"
#include "core/formats/files.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {
namespace {

/// The words of a window file, with the line that the last one stood in.
class Words {
 public:
  explicit Words(const std::string& file) : file_(file), in_(file) {
    const std::string begin = first_bytes(file, static_cast<i64>(utf8_mark.size()));
    refuse_utf16(begin, file);
    if (begin == utf8_mark) in_.ignore(static_cast<std::streamsize>(begin.size()));
  }
  std::string place() const { return file_ + ":" + std::to_string(line_); }
  /// False at the end of the file.
  bool next(std::string& word) {
    word.clear();
    for (int c = in_.peek(); c != EOF; c = in_.peek()) {
      const bool space = std::strchr(" \t\r\n", c) != nullptr;
      if (space && !word.empty()) return true;
      in_.get();
      if (c == '\n') ++line_;
      if (!space) word += static_cast<char>(c);
    }
    return !word.empty();
  }
  std::string word(const char* what) {
    std::string word;
    if (!next(word)) throw FileError(place(), std::string("ends where ") + what + " is due");
    return word;
  }
  /// The rest of a line, which is not empty: names may have spaces.
  std::string line(const char* what) {
    std::string begin = word(what), rest;
    std::getline(in_, rest);
    begin += rest;
    begin.erase(begin.find_last_not_of(" \t\r") + 1);
    ++line_;
    return begin;
  }
  float number(const char* what) {
    const std::string text = word(what);
    char* end = nullptr;
    const float value = std::strtof(text.c_str(), &end);
    if (*end != '\0') throw FileError(place(), "'" + text.substr(0, 80) + "' stands where " + what + " is due");
    return value;
  }
  int whole(const char* what) {
    const std::string text = word(what);
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (*end != '\0') throw FileError(place(), "'" + text.substr(0, 80) + "' stands where " + what + " is due");
    return static_cast<int>(value);
  }

 private:
  const std::string file_;
  FileStream in_;
  i64 line_ = 1;
};

std::vector<std::uint8_t> bytes_of(const std::string& file) {
  const RawFile raw(file);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(raw.bytes()));
  raw.read(0, raw.bytes(), bytes.data());
  return bytes;
}

}  // namespace

WindowSet::WindowSet(const BatchRequest& request)
    : batch_(request.windows.batch),
      foreground_(static_cast<i64>(static_cast<float>(batch_) * request.windows.fraction)),
      key_(random_bits(request.seed, 0x77696E646F7773ull)) {
  samples_ = std::numeric_limits<i64>::max();
  read_list(request);
  const auto need = [&](i64 wanted, bool foreground, const char* what) {
    if (wanted > 0 && windows_[foreground ? 1 : 0].empty())
      throw ConfigError(request.source,
                        std::string("has no ") + what + " windows, and every batch has " + std::to_string(wanted),
                        "choose other thresholds, or another fg_fraction");
  };
  need(batch_ - foreground_, false, "background");
  need(foreground_, true, "foreground");
  if (request.windows.cache)
    for (const auto& image : images_) files_.push_back(bytes_of(image));
}

void WindowSet::read_list(const BatchRequest& request) {
  Words words(request.source);
  std::string hash;
  while (words.next(hash)) {
    if (hash != "#") {
      if (!looks_like_text(request.source)) throw FileError(request.source, "is no text", "it should list windows");
      throw FileError(words.place(), "'" + hash.substr(0, 80) + "' stands where an image should begin with '#'");
    }
    words.whole("the image's number");
    images_.push_back(request.images.root + words.line("the image's path"));
    const std::string place = words.place();
    const i64 channels = words.whole("the number of channels"), height = words.whole("the height"),
              width = words.whole("the width");
    if (fields_.empty())
      fields_ = {{"data", {channels, height, width}, Stored::encoded}, {"label", {}, Stored::float32}};
    if ((channels != 1 && channels != 3) || channels != this->channels())
      throw FileError(place, "an image has " + std::to_string(channels) + " channels", "all must have 3, or all 1");
    for (int left = words.whole("the number of windows"); left > 0; --left) {
      Window window{images_.size() - 1, words.whole("a class"), 0, 0, 0, 0};
      const float overlap = words.number("an overlap");
      for (int* const corner : {&window.x1, &window.y1, &window.x2, &window.y2})
        *corner = words.whole("a window's corner");
      const bool touches = window.x2 >= 0 && window.y2 >= 0 && window.x1 < width && window.y1 < height;
      if (window.x2 < window.x1 || window.y2 < window.y1 || !touches)
        throw FileError(words.place(), "is no window in an image of " + std::to_string(width) + " x " +
                                           std::to_string(height) + " pixels");
      if (overlap >= request.windows.foreground) {
        if (window.label < 1)
          throw FileError(words.place(), "is a foreground window of class " + std::to_string(window.label),
                          "0 is the background's class");
        exact_label(window.label, [&] { return words.place(); });
        windows_[1].push_back(window);
      } else if (overlap < request.windows.background) {
        window.label = 0;
        windows_[0].push_back(window);
      }
    }
  }
  if (images_.empty()) throw FileError(request.source, "lists no images");
}

WindowSet::Draw WindowSet::draw(i64 position) const {
  const i64 batch = position / batch_, slot = position % batch_, background = batch_ - foreground_;
  const bool is_foreground = slot >= background;
  const i64 number = is_foreground ? batch * foreground_ + slot - background : batch * background + slot;
  const std::uint64_t key = random_bits(key_, is_foreground ? 1 : 0), counter = 2 * static_cast<std::uint64_t>(number);
  const auto& windows = windows_[is_foreground ? 1 : 0];
  return {windows[random_bits(key, counter) % windows.size()], random_bits(key, counter + 1) % 2 == 1};
}

void WindowSet::add_known(Digest& digest) const {
  for (const std::string& image : images_) digest.add(image.substr(image.rfind('/') + 1));
  for (const auto& kind : windows_)
    for (const Window& w : kind) {
      const i64 numbers[] = {static_cast<i64>(w.image), w.label, w.x1, w.y1, w.x2, w.y2};
      digest.add(numbers, sizeof numbers);
    }
}

std::string WindowSet::where(i64 sample) const {
  const Window& w = draw(sample).window;
  return images_[w.image] + ", window " + std::to_string(w.x1) + " " + std::to_string(w.y1) + " " +
         std::to_string(w.x2) + " " + std::to_string(w.y2);
}

void WindowSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  to[0].begin.assign(1, 0);
  to[0].bytes.clear();
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  for (i64 i = 0; i < count; ++i) {
    const Window window = draw(indices[i]).window;
    const auto& bytes = files_.empty() ? bytes_of(images_[window.image]) : files_[window.image];
    to[0].bytes.insert(to[0].bytes.end(), bytes.begin(), bytes.end());
    to[0].begin.push_back(static_cast<i64>(to[0].bytes.size()));
    const auto label = static_cast<float>(window.label);
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
  }
}

}  // namespace cortado
