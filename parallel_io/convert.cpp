#include "parallel_io/convert.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "core/data/batch_source.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "parallel_io/digits.h"
#include "parallel_io/hdf5.h"
#include "parallel_io/idx.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr i64 chunk_samples = 1000;  // converted and written at a time

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder, "cannot be made: " + error.message());
}

/// Calls work(i) for i in [0, n) on all cores; throws the first exception.
void in_parallel(i64 n, const std::function<void(i64)>& work) {
  const i64 threads = std::clamp<i64>(std::thread::hardware_concurrency(), 1, std::max<i64>(1, n));
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<std::thread> team;
  for (i64 t = 0; t < threads; ++t)
    team.emplace_back([&, t] {
      try {
        for (i64 i = t; i < n; i += threads) work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  for (auto& thread : team) thread.join();
  if (first) std::rethrow_exception(first);
}

/// Where samples of a data set come from: sample i's values and label, any i from any thread.
struct Samples {
  i64 count = 0;
  Shape shape;
  std::function<void(i64 i, float* values)> values;
  std::function<float(i64 i)> label;
};

void write_set(const Samples& samples, const std::string& name, const ConvertOptions& options) {
  make_folder(options.to);
  const std::string file = name + ".h5";
  hdf5::Writer writer((fs::path(options.to) / file).string());
  const auto type = options.bytes ? hdf5::Writer::Type::uint8 : hdf5::Writer::Type::float32;
  const std::size_t data = writer.add("data", samples.count, samples.shape, type);
  const std::size_t label = writer.add("label", samples.count, {}, hdf5::Writer::Type::float32);
  const i64 size = count_of(samples.shape);
  std::vector<float> values(static_cast<std::size_t>(chunk_samples * size)), labels(chunk_samples);
  for (i64 first = 0; first < samples.count; first += chunk_samples) {
    const i64 n = std::min(chunk_samples, samples.count - first);
    in_parallel(n, [&](i64 i) {
      samples.values(first + i, values.data() + i * size);
      labels[static_cast<std::size_t>(i)] = samples.label(first + i);
    });
    writer.write(data, first, n, values.data());
    writer.write(label, first, n, labels.data());
    if (options.progress) options.progress(first + n, samples.count);
  }
  writer.finish();
  std::ofstream list(fs::path(options.to) / (name + ".txt"));
  list << file << "\n";
  if (!list.flush()) throw FileError(options.to + "/" + name + ".txt", "cannot be written");
}

void copy_scaled(const std::uint8_t* from, i64 n, float scale, float* to) {
  for (i64 i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * scale;
}

IdxArray read_mnist_file(const std::string& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    const std::string file = (fs::path(folder) / (name + ending)).string();
    if (fs::exists(file)) return read_idx(file);
  }
  throw FileError((fs::path(folder) / name).string(), "is not there, neither plain nor as .gz");
}

void convert_mnist_split(const std::string& from, const std::string& prefix, const std::string& name,
                         const ConvertOptions& options) {
  const IdxArray images = read_mnist_file(from, prefix + "-images-idx3-ubyte"),
                 labels = read_mnist_file(from, prefix + "-labels-idx1-ubyte");
  if (images.shape.size() != 3 || labels.shape.size() != 1 || images.shape[0] != labels.shape[0])
    throw FileError(from,
                    prefix + " images have shape " + to_string(images.shape) + ", labels " + to_string(labels.shape));
  const i64 size = images.shape[1] * images.shape[2];
  Samples samples;
  samples.count = images.shape[0];
  samples.shape = {1, images.shape[1], images.shape[2]};
  samples.values = [&](i64 i, float* to) { copy_scaled(images.values.data() + i * size, size, options.scale, to); };
  samples.label = [&](i64 i) { return static_cast<float>(labels.values[static_cast<std::size_t>(i)]); };
  write_set(samples, name, options);
}

void write_digit_idx(const DigitOptions& digits, i64 first, i64 count, const std::string& prefix,
                     const ConvertOptions& options) {
  make_folder(options.to);
  constexpr i64 size = 28 * 28;
  IdxArray images{{count, 28, 28}, std::vector<std::uint8_t>(static_cast<std::size_t>(count * size))};
  IdxArray labels{{count}, std::vector<std::uint8_t>(static_cast<std::size_t>(count))};
  in_parallel(count, [&](i64 i) {
    const auto pixels = draw_digit(digits.seed, first + i).values;
    std::copy(pixels.begin(), pixels.end(), images.values.begin() + i * size);
    labels.values[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(digit_label(first + i));
  });
  write_idx((fs::path(options.to) / (prefix + "-images-idx3-ubyte")).string(), images);
  write_idx((fs::path(options.to) / (prefix + "-labels-idx1-ubyte")).string(), labels);
}

void write_digit_set(const DigitOptions& digits, i64 first, i64 count, const std::string& name,
                     const ConvertOptions& options) {
  Samples samples;
  samples.count = count;
  samples.shape = {1, 28, 28};
  samples.values = [&](i64 i, float* to) {
    const auto pixels = draw_digit(digits.seed, first + i).values;
    copy_scaled(pixels.data(), static_cast<i64>(pixels.size()), options.scale, to);
  };
  samples.label = [&](i64 i) { return static_cast<float>(digit_label(first + i)); };
  write_set(samples, name, options);
}

/// The images of one split, shuffled.
struct Split {
  std::string name;
  std::vector<std::string> files;
  std::vector<int> labels;
};

std::vector<std::string> sorted_folder(const fs::path& folder, bool folders) {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.is_directory() == folders && (folders || is_image_name(entry.path().string())))
      names.push_back(entry.path().filename().string());
  if (error) throw FileError(folder.string(), "cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

Split read_split(const fs::path& folder, const std::string& name, const std::vector<std::string>& classes) {
  Split in_order;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    if (!fs::is_directory(folder / classes[label])) continue;
    for (const auto& file : sorted_folder(folder / classes[label], false)) {
      in_order.files.push_back((folder / classes[label] / file).string());
      in_order.labels.push_back(static_cast<int>(label));
    }
  }
  if (in_order.files.empty()) throw FileError(folder.string(), "has no images in folders, one per class");
  Split split{name, {}, {}};
  const auto count = static_cast<i64>(in_order.files.size());
  SampleOrder order(count, true, 1);
  for (i64 i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(order(i));
    split.files.push_back(in_order.files[from]);
    split.labels.push_back(in_order.labels[from]);
  }
  return split;
}

/// Decodes images of a split to one shape.
class Decoder {
 public:
  Decoder(const Split& split, const ImageOptions& options) : split_(split), options_(options) {
    const Image first = read_image(split.files[0]);
    height_ = options.height > 0 ? options.height : first.height;
    width_ = options.width > 0 ? options.width : first.width;
  }
  Shape shape() const { return {3, height_, width_}; }
  i64 size() const { return 3 * i64{height_} * width_; }
  void operator()(i64 i, float* to) const {
    const std::string& file = split_.files[static_cast<std::size_t>(i)];
    Image image = read_image(file);
    if (options_.height > 0)
      image = resize(image, height_, width_);
    else if (image.height != height_ || image.width != width_)
      throw FileError(file,
                      "has " + std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels, " +
                          split_.files[0] + " has " + std::to_string(width_) + " x " + std::to_string(height_),
                      "give --resize WIDTHxHEIGHT");
    const i64 plane = i64{height_} * width_;
    for (i64 c = 0; c < 3; ++c)
      copy_scaled(image.values.data() + (options_.rgb ? c : 2 - c) * plane, plane, 1, to + c * plane);
  }

 private:
  const Split& split_;
  const ImageOptions& options_;
  int height_ = 0, width_ = 0;
};

/// Mean image of a split; with `channel`, every pixel has its channel's mean.
std::vector<float> mean_of(const Decoder& decode, i64 count, bool channel, const ConvertOptions& options) {
  const i64 size = decode.size(), plane = size / 3;
  std::vector<double> sums(static_cast<std::size_t>(size));
  std::vector<float> values(static_cast<std::size_t>(chunk_samples * size));
  for (i64 first = 0; first < count; first += chunk_samples) {
    const i64 n = std::min(chunk_samples, count - first);
    in_parallel(n, [&](i64 i) { decode(first + i, values.data() + i * size); });
    for (i64 i = 0; i < n * size; ++i) sums[static_cast<std::size_t>(i % size)] += values[static_cast<std::size_t>(i)];
    if (options.progress) options.progress(first + n, count);
  }
  if (channel)
    for (i64 c = 0; c < 3; ++c) {
      const auto begin = sums.begin() + c * plane;
      std::fill(begin, begin + plane, std::accumulate(begin, begin + plane, 0.0) / static_cast<double>(plane));
    }
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return mean;
}

void write_mean(const std::vector<float>& mean, const Shape& shape, const std::string& folder) {
  caffe::BlobProto proto;
  proto.set_num(1);
  proto.set_channels(static_cast<int>(shape[0]));
  proto.set_height(static_cast<int>(shape[1]));
  proto.set_width(static_cast<int>(shape[2]));
  for (const float value : mean) proto.add_data(value);
  write_binary((fs::path(folder) / "mean.binaryproto").string(), proto);
}

}  // namespace

void convert_mnist(const std::string& from, const ConvertOptions& options) {
  convert_mnist_split(from, "train", "train", options);
  convert_mnist_split(from, "t10k", "test", options);
}

void convert_digits(const DigitOptions& digits, const ConvertOptions& options) {
  const auto write = digits.idx ? &write_digit_idx : &write_digit_set;
  write(digits, 0, digits.train, "train", options);
  write(digits, digits.train, digits.test, digits.idx ? "t10k" : "test", options);
}

void convert_images(const std::string& from, const ImageOptions& images, const ConvertOptions& options) {
  if (options.bytes && images.mean != ImageOptions::Mean::none)
    throw ConfigError("convert images", "values without their mean do not fit uint8", "store float, or keep the mean");
  std::vector<fs::path> folders;
  for (const char* split : {"train", "val", "test"})
    if (fs::is_directory(fs::path(from) / split)) folders.push_back(fs::path(from) / split);
  if (folders.empty()) folders.push_back(from);
  const auto classes = sorted_folder(folders[0], true);
  make_folder(options.to);
  std::ofstream names(fs::path(options.to) / "labels.txt");
  for (const auto& name : classes) names << name << "\n";

  std::vector<float> mean;
  for (const auto& folder : folders) {
    const std::string name = folder == fs::path(from) ? "train" : folder.filename().string();
    const Split split = read_split(folder, name, classes);
    const Decoder decode(split, images);
    const auto count = static_cast<i64>(split.files.size());
    if (mean.empty() && images.mean != ImageOptions::Mean::none) {
      mean = mean_of(decode, count, images.mean == ImageOptions::Mean::channel, options);
      write_mean(mean, decode.shape(), options.to);
    }
    Samples samples;
    samples.count = count;
    samples.shape = decode.shape();
    samples.values = [&](i64 i, float* to) {
      decode(i, to);
      for (std::size_t e = 0; e < static_cast<std::size_t>(decode.size()); ++e)
        to[e] = (to[e] - (mean.empty() ? 0 : mean[e])) * options.scale;
    };
    samples.label = [&](i64 i) { return static_cast<float>(split.labels[static_cast<std::size_t>(i)]); };
    write_set(samples, name, options);
  }
}

}  // namespace cortado
