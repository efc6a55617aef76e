#include "parallel_io/convert/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/weight_files.h"
#include "parallel_io/convert/digits.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/image_set.h"
#include "parallel_io/sets/striped.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr i64 chunk_samples = 1000;  // of which a mean is taken at a time

const Replicas& ranks_of(const ConvertOptions& options) {
  static const Replicas alone;
  return options.ranks != nullptr ? *options.ranks : alone;
}

/// Writes a small file, on one rank, unless it is there as it should be. Throws FileError where another one is.
void write_once(const std::string& file, const std::string& bytes, const ConvertOptions& options) {
  if (ranks_of(options).rank() != 0) return;
  if (exists(file) && read_file(file) == bytes) return;
  NewFile out(file);
  out.write(bytes.data(), static_cast<i64>(bytes.size()));
  out.create();
}

/// The same for lines of text.
void write_lines(const fs::path& file, const std::vector<std::string>& lines, const ConvertOptions& options) {
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  write_once(file.string(), text, options);
}

/// Makes the writer and writes. An error says that what this run began can be gone on with.
void write_whole(const DataSet& set, const std::string& to, const WriteOptions& write, const ConvertOptions& options) {
  const Replicas& ranks = ranks_of(options);
  const std::string note = Unfinished::name(to);
  const bool was_there = is_taken(note);
  try {
    const auto writer = make_writer(set, to, write, ranks);
    write_set(set, *writer, ranks, options.progress);
  } catch (const FileError& error) {
    if (was_there || !is_taken(note)) throw;
    throw FileError("", std::string(error.what()) + "; the same command goes on with " + to +
                            ", of which a part is written; to begin anew, remove " + note + " first");
  } catch (const ConfigError& error) {  // the same command would come to the same end
    if (was_there || !is_taken(note)) throw;
    std::string begun;
    for (const auto& name : {note, to + ".unfinished", to + ".stripes"})
      if (is_taken(name)) begun += (begun.empty() ? "" : " and ") + name;
    throw ConfigError("", std::string(error.what()) + "; before that, remove what this run began, " + begun);
  }
}

/// One of the sets that a conversion to a folder makes: FOLDER/NAME.h5, noted to be made `from` that.
struct Split {
  std::string name, from;
};

std::string file_of(const Split& split, const FolderOptions& folder) {
  return (fs::path(folder.to) / (split.name + ".h5")).string();
}

/// The source and the preparation that an earlier conversion noted; empty if the file has no such note.
std::string made_from(const std::string& file) {
  if (kind_of(file) != FileKind::regular || !is_hdf5(file)) return "";
  const hdf5::File opened(file);
  if (!hdf5::has_attribute(opened.id(), striped_attribute::from)) return "";
  const auto texts = hdf5::read_strings(opened.id(), striped_attribute::from, file);
  return texts.empty() ? "" : texts[0];
}

/// The names of the splits, a line each, that a killed run of the same conversion has made. Throws FileError where
/// something else has a name, or where all are there. Collective.
std::string made_before(const std::vector<Split>& splits, const FolderOptions& folder, const Replicas& ranks) {
  std::string problem, made;
  if (ranks.rank() == 0) {
    try {
      bool all = true;
      for (const Split& split : splits) {
        const std::string file = file_of(split, folder);
        const bool is_there = is_taken(file);
        all = all && is_there;
        if (is_there && made_from(file) != split.from)
          throw FileError(file, "is there already", "remove it, or give another folder");
        if (is_there) made += split.name + "\n";
      }
      if (all)
        throw FileError(folder.to, "has all sets of this conversion already",
                        "remove " + file_of(splits[0], folder) + " to make it anew, or give another folder");
    } catch (const std::exception& error) { problem = error.what(); }
  }
  problem = ranks.from_root(problem);
  if (!problem.empty()) throw FileError("", problem);
  return "\n" + ranks.from_root(made);
}

/// FOLDER/NAME.h5, unless it is `made`, and its list.
void write_split(std::unique_ptr<DataSet> from, const Preparation& preparation, const Split& split,
                 const std::string& made, const FolderOptions& folder, const ConvertOptions& options) {
  make_folders(folder.to);
  if (made.find("\n" + split.name + "\n") == std::string::npos) {
    const PreparedSet set(std::move(from), preparation);
    WriteOptions write;
    write.from = split.from;
    write_whole(set, file_of(split, folder), write, options);
  }
  write_lines(fs::path(folder.to) / (split.name + ".txt"), {split.name + ".h5"}, options);
}

Preparation preparation_for(const FolderOptions& folder) {
  Preparation preparation;
  preparation.to_float = !folder.bytes;
  preparation.scale = folder.scale;
  return preparation;
}

std::string text_of(const FolderOptions& folder) {
  return folder.bytes ? "bytes" : "float x " + std::to_string(folder.scale);
}

std::string text_of(const ImageSize& size) {
  const auto sides = [](int width, int height) { return std::to_string(width) + "x" + std::to_string(height); };
  std::string text;
  if (size.height > 0) text = " at " + sides(size.width, size.height);
  if (size.shorter > 0) text = " at a shorter side of " + std::to_string(size.shorter);
  if (size.antialias) text += ", antialiased";
  if (size.crops()) text += ", the middle " + sides(size.crop_width, size.crop_height);
  return text;
}

/// FROM/NAME, or that with .gz.
std::string plain_or_zipped(const std::string& from, const std::string& name) {
  const std::string file = (fs::path(from) / name).string();
  return !exists(file) && exists(file + ".gz") ? file + ".gz" : file;
}

/// Adds samples of `size` values to their sums. `first` is the first one's number.
void add_samples(const DataSet& set, i64 first, const Bytes& bytes, std::vector<double>& sums) {
  const DataSet::Field& field = set.fields()[0];
  const std::size_t size = sums.size();
  if (field.stored == Stored::uint8) {
    for (std::size_t i = 0; i < bytes.size(); ++i) sums[i % size] += bytes[i];
    return;
  }
  for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    if (!std::isfinite(value))
      throw NumericError(set.where(first + static_cast<i64>(i / size)), "holds NaN or infinite values",
                         "there is no mean of them: mend the data set, or leave the sample out");
    sums[i % size] += double{value};
  }
}

/// The mean sample of a set, of which the ranks read chunks in turn; with `channel`, every pixel has its channel's
/// mean. Collective.
std::vector<float> mean_of(const DataSet& set, bool channel, const ConvertOptions& options) {
  const Shape& shape = set.fields()[0].sample_shape;
  const i64 size = count_of(shape), plane = size / shape[0];
  const Replicas& ranks = ranks_of(options);
  std::vector<double> sums(static_cast<std::size_t>(size));
  std::vector<Values> values;
  std::vector<i64> indices;
  for (i64 first = ranks.rank() * chunk_samples; first < set.samples(); first += ranks.size() * chunk_samples) {
    indices.resize(static_cast<std::size_t>(std::min(chunk_samples, set.samples() - first)));
    std::iota(indices.begin(), indices.end(), first);
    set.read(indices.data(), static_cast<i64>(indices.size()), values);
    add_samples(set, first, values[0].bytes, sums);
    if (options.progress) options.progress(first + static_cast<i64>(indices.size()), set.samples());
  }
  ranks.sum(sums.data(), size);
  if (channel)
    for (i64 c = 0; c < shape[0]; ++c) {
      const auto begin = sums.begin() + c * plane;
      std::fill(begin, begin + plane, std::accumulate(begin, begin + plane, 0.0) / static_cast<double>(plane));
    }
  std::vector<float> mean;
  for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(set.samples())));
  return mean;
}

/// Writes a mean as Caffe's compute_image_mean does, to a name that is free or holds the same.
void write_mean(const std::vector<float>& mean, const Shape& shape, const std::string& file,
                const ConvertOptions& options) {
  caffe::BlobProto proto;
  proto.set_num(1);
  proto.set_channels(static_cast<int>(shape[0]));
  proto.set_height(static_cast<int>(shape[1]));
  proto.set_width(static_cast<int>(shape[2]));
  for (const float value : mean) proto.add_data(value);
  write_once(file, proto.SerializeAsString(), options);
}

}  // namespace

void convert_set(const std::string& from, const std::string& to, SetOptions set, const ConvertOptions& options) {
  const Preparation& p = set.preparation;
  const PreparedSet prepared(open_set(from, set.open), p);
  set.write.from = from + text_of(p.size) + (p.decode ? "" : ", encoded") +
                   (p.shuffle ? ", shuffled by seed " + std::to_string(p.seed) : "") + (p.rgb ? ", rgb" : "");
  write_whole(prepared, to, set.write, options);
}

std::vector<float> convert_mean(const std::string& from, const std::string& to, const SetOptions& set,
                                const ConvertOptions& options) {
  if (is_taken(to)) throw FileError(to, "is there already", "remove it, or give another name");
  const PreparedSet prepared(open_set(from, set.open), set.preparation);
  const Shape& shape = prepared.fields()[0].sample_shape;
  if (shape.size() != 3 || prepared.samples() == 0)
    throw ConfigError(
        from, prepared.samples() == 0 ? "has no samples" : "has samples of shape " + to_string(shape) + ", no images");
  const auto mean = mean_of(prepared, false, options);
  write_mean(mean, shape, to, options);
  const auto plane = static_cast<std::ptrdiff_t>(mean.size()) / shape[0];
  std::vector<float> channels;
  for (auto at = mean.begin(); at != mean.end(); at += plane)
    channels.push_back(static_cast<float>(std::accumulate(at, at + plane, 0.0) / static_cast<double>(plane)));
  return channels;
}

void convert_mnist(const std::string& from, const FolderOptions& folder, const ConvertOptions& options) {
  std::vector<Split> splits;
  std::vector<std::string> images;
  for (const auto& [prefix, name] : {std::pair<std::string, std::string>{"train", "train"}, {"t10k", "test"}}) {
    images.push_back(plain_or_zipped(from, prefix + "-images-idx3-ubyte"));
    splits.push_back({name, images.back() + " as " + text_of(folder)});
  }
  const std::string made = made_before(splits, folder, ranks_of(options));
  for (std::size_t i = 0; i < splits.size(); ++i)
    write_split(std::make_unique<IdxSet>(images[i]), preparation_for(folder), splits[i], made, folder, options);
}

void convert_digits(const DigitOptions& digits, const FolderOptions& folder, const ConvertOptions& options) {
  struct Part {
    i64 first, count;
    const char* idx_name;
    Split split;
  };
  std::vector<Part> parts = {{0, digits.train, "train", {"train", ""}},
                             {digits.train, digits.test, "t10k", {"test", ""}}};
  std::vector<Split> splits;
  for (Part& part : parts) {
    const std::string what = "digits of seed " + std::to_string(digits.seed) + " from " + std::to_string(part.first);
    part.split.from =
        digits.idx ? what : what + " to " + std::to_string(part.first + part.count) + " as " + text_of(folder);
    splits.push_back(part.split);
  }
  const std::string made = digits.idx ? "" : made_before(splits, folder, ranks_of(options));
  for (const Part& part : parts) {
    auto set = std::make_unique<DigitSet>(digits.seed, part.first, part.count);
    if (!digits.idx) {
      write_split(std::move(set), preparation_for(folder), part.split, made, folder, options);
      continue;
    }
    make_folders(folder.to);
    WriteOptions write;
    write.format = Format::idx;
    write.from = part.split.from;
    write_whole(*set, (fs::path(folder.to) / (std::string(part.idx_name) + "-images-idx3-ubyte")).string(), write,
                options);
  }
}

void convert_images(const std::string& from, const ImageOptions& images, const FolderOptions& folder,
                    const ConvertOptions& options) {
  if (folder.bytes && images.mean != ImageOptions::Mean::none)
    throw ConfigError("convert images", "values without their mean do not fit uint8", "store float, or keep the mean");
  std::vector<fs::path> sources;
  for (const char* split : {"train", "val", "test"})
    if (kind_of((fs::path(from) / split).string()) == FileKind::folder) sources.push_back(fs::path(from) / split);
  if (sources.empty()) sources.push_back(from);
  std::vector<Split> splits;
  for (const auto& source : sources)
    splits.push_back({source == fs::path(from) ? "train" : source.filename().string(),
                      source.string() + " as " + text_of(folder) + (images.rgb ? ", rgb" : "") + text_of(images.size) +
                          ", mean " + std::to_string(static_cast<int>(images.mean))});
  const std::string made = made_before(splits, folder, ranks_of(options));
  make_folders(folder.to);
  OpenOptions colour;
  colour.channels = 3;
  std::vector<float> mean;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto open = [&] { return std::make_unique<ImageSet>(sources[i].string(), colour); };
    Preparation preparation = preparation_for(folder);
    preparation.size = images.size;
    preparation.rgb = images.rgb;
    preparation.shuffle = true;
    if (colour.classes.empty()) {
      colour.classes = open()->classes();
      write_lines(fs::path(folder.to) / "labels.txt", colour.classes, options);
    }
    if (mean.empty() && images.mean != ImageOptions::Mean::none) {
      Preparation bytes = preparation;
      bytes.to_float = false;
      const PreparedSet set(open(), bytes);
      mean = mean_of(set, images.mean == ImageOptions::Mean::channel, options);
      write_mean(mean, set.fields()[0].sample_shape, (fs::path(folder.to) / "mean.binaryproto").string(), options);
    }
    preparation.mean = mean;
    write_split(open(), preparation, splits[i], made, folder, options);
  }
}

}  // namespace cortado
