#include "app/start/start_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/feed/sources.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
using Fields = StartFields;

std::string digest_text(std::uint64_t digest) {
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

std::uint64_t add_to(std::uint64_t digest, const void* bytes, std::size_t count) {
  const auto* const all = static_cast<const unsigned char*>(bytes);
  std::uint64_t word = 0;
  std::size_t i = 0;
  for (; i + sizeof word <= count; i += sizeof word) {
    std::copy_n(all + i, sizeof word, reinterpret_cast<unsigned char*>(&word));
    digest = mix64(digest ^ word);
  }
  for (; i < count; ++i) digest = mix64(digest ^ all[i]);
  return mix64(digest ^ count);
}

Fields empty_fields(const std::string& which) {
  const std::string before = which + ": ";
  return {{"data set", before + "number of samples", ""},
          {"data set", before + "shapes", ""},
          {"data set", before + "digest of some samples", ""}};
}

void add(const std::string& which, const std::function<std::unique_ptr<DataSet>()>& open, Fields& fields) {
  Fields found;
  try {
    found = data_fields(which, *open());
  } catch (const Error&) { found = empty_fields(which); }
  fields.insert(fields.end(), found.begin(), found.end());
}

/// The request that decides which samples a layer gets; an empty source means that the layer reads no data set.
BatchRequest request_of(const caffe::LayerParameter& layer) {
  BatchRequest wanted;
  if (layer.type() == "Data") {
    wanted.source = layer.data_param().source();
    wanted.fields = {"data"};
    if (layer.top_size() > 1) wanted.fields.push_back("label");
    wanted.batch = layer.data_param().batch_size();
  } else if (layer.type() == "HDF5Data") {
    wanted.kind = BatchRequest::Kind::hdf5;
    wanted.source = layer.hdf5_data_param().source();
    wanted.fields = {layer.top().begin(), layer.top().end()};
    wanted.batch = layer.hdf5_data_param().batch_size();
  } else if (layer.type() == "ImageData") {
    wanted.kind = BatchRequest::Kind::images;
    wanted.source = layer.image_data_param().source();
    wanted.images.root = layer.image_data_param().root_folder();
    wanted.images.grey = !layer.image_data_param().is_color();
  } else if (layer.type() == "WindowData") {
    const auto& p = layer.window_data_param();
    wanted.kind = BatchRequest::Kind::windows;
    wanted.source = p.source();
    wanted.images.root = p.root_folder();
    wanted.windows.foreground = p.fg_threshold();
    wanted.windows.background = p.bg_threshold();
    wanted.windows.fraction = p.fg_fraction();
    wanted.windows.batch = wanted.batch = p.batch_size();
  }
  if (layer.has_transform_param()) wanted.transform = &layer.transform_param();
  return wanted;
}
}  // namespace

std::string content_of(const std::string& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  const auto bytes = static_cast<i64>(std::filesystem::file_size(file, error));
  if (!in || error) return "";
  constexpr i64 piece = 1 << 20, most_pieces = 256;
  const i64 pieces = (bytes + piece - 1) / piece, read = std::min(pieces, most_pieces);
  std::vector<char> buffer(piece);
  std::uint64_t digest = static_cast<std::uint64_t>(bytes);
  for (i64 i = 0; i < read; ++i) {
    in.seekg(i * (pieces - 1) / std::max<i64>(1, read - 1) * piece);
    in.read(buffer.data(), piece);
    digest = add_to(digest, buffer.data(), static_cast<std::size_t>(in.gcount()));
    in.clear();
  }
  return "a file of " + std::to_string(bytes) + " bytes with digest " + digest_text(digest);
}

std::string contents_of(const std::string& files) {
  std::istringstream all(files);
  std::string text;
  for (std::string file; std::getline(all, file, ',');) text += (text.empty() ? "" : ", ") + content_of(file);
  return text;
}

StartFields data_fields(const std::string& which, const DataSet& set) {
  Fields fields = empty_fields(which);
  fields[0].value = std::to_string(set.samples());
  for (const auto& field : set.fields())
    fields[1].value += (fields[1].value.empty() ? "" : ", ") + field.name + " " + to_string(field.sample_shape) +
                       " of type " + std::to_string(static_cast<int>(field.stored));
  std::vector<i64> some;
  const i64 read = std::min<i64>(8, set.samples());
  for (i64 i = 0; i < read; ++i) some.push_back(i * (set.samples() - 1) / std::max<i64>(1, read - 1));
  std::vector<Values> values;
  std::uint64_t digest = 0;
  if (!some.empty()) set.read(some.data(), static_cast<i64>(some.size()), values);
  for (const Values& one : values) digest = add_to(digest, one.bytes.data(), one.bytes.size());
  fields[2].value = digest_text(digest);
  return fields;
}

void add_data(const caffe::LayerParameter& layer, const std::string& which, Fields& fields) {
  const BatchRequest wanted = request_of(layer);
  if (!wanted.source.empty())
    add(
        which, [&] { return open_data(wanted, 0); }, fields);
}

void add_set(const std::string& path, const OpenOptions& options, const std::string& which, Fields& fields) {
  add(
      which, [&] { return open_set(path, options); }, fields);
}

void add_folder(const std::string& folder, const std::string& which, Fields& fields) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error))
      files.push_back(fs::path(at->path()).lexically_relative(folder).string() + " of " +
                      std::to_string(at->file_size(error)) + " bytes");
  std::sort(files.begin(), files.end());
  std::uint64_t digest = 0;
  for (const auto& file : files) digest = add_to(digest, file.data(), file.size());
  const bool none = error || files.empty();
  fields.push_back(
      {"files", which,
       none ? "" : std::to_string(files.size()) + " files with digest of names and sizes " + digest_text(digest)});
}

}  // namespace cortado
