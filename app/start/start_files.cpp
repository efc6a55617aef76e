#include "app/start/start_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/digest.h"
#include "parallel_io/feed/sources.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
using Fields = StartFields;

Fields empty_fields(const std::string& which) {
  const std::string before = which + ": ";
  return {{"data set", before + "number of samples", ""},
          {"data set", before + "shapes", ""},
          {"data set", before + "digest of labels, names and small arrays", ""},
          {"data set", before + "digest of samples", ""}};
}

/// Of all samples where they are few bytes, else of some from all of the set.
std::string digest_of_samples(const DataSet& set) {
  constexpr i64 most_bytes = i64{256} << 20, most_encoded = 2048, some = 256, piece = 256;
  i64 bytes = 0;
  bool encoded = false;
  for (const auto& field : set.fields()) {
    encoded = encoded || field.stored == Stored::encoded;
    bytes += field.stored == Stored::encoded ? 0 : field.sample_bytes();
  }
  const bool is_small = encoded ? set.samples() <= most_encoded : bytes <= most_bytes / std::max<i64>(1, set.samples());
  const i64 read = is_small ? set.samples() : std::min(some, set.samples());
  const i64 at_once = std::clamp<i64>(most_bytes / 8 / std::max<i64>(1, bytes), 1, encoded ? 16 : piece);
  Digest digest;
  std::vector<Values> values;
  i64 added = 0;  // a sample of these may be large
  for (i64 first = 0; first < read && added < most_bytes; first += at_once) {
    std::vector<i64> indices;
    for (i64 i = first; i < std::min(read, first + at_once); ++i)
      indices.push_back(is_small ? i : i + 1 == read ? set.samples() - 1 : i * (set.samples() / read));
    set.read(indices.data(), static_cast<i64>(indices.size()), values);
    for (const Values& one : values) {
      digest.add(one.bytes.data(), one.bytes.size());
      added += static_cast<i64>(one.bytes.size());
    }
  }
  return digest.text();
}

void add(const std::string& which, const std::function<std::unique_ptr<DataSet>()>& open, Fields& fields) {
  Fields found;
  try {
    found = data_fields(which, *open());
  } catch (const Error&) { found = empty_fields(which); }
  fields.insert(fields.end(), found.begin(), found.end());
}
}  // namespace

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

std::string content_of(const std::string& file) {
  std::error_code error;
  if (file.empty() || !std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  const auto bytes = static_cast<i64>(std::filesystem::file_size(file, error));
  if (!in || error) return "";
  constexpr i64 piece = 1 << 20, most_pieces = 256;
  const i64 pieces = (bytes + piece - 1) / piece, read = std::min(pieces, most_pieces);
  std::vector<char> buffer(piece);
  Digest digest;
  for (i64 i = 0; i < read; ++i) {
    in.seekg(i * (pieces - 1) / std::max<i64>(1, read - 1) * piece);
    in.read(buffer.data(), piece);
    digest.add(buffer.data(), static_cast<std::size_t>(in.gcount()));
    in.clear();
  }
  return "a file of " + std::to_string(bytes) + " bytes with digest " + digest.text();
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
  Digest known;
  set.add_known(known);
  fields[2].value = known.text();
  fields[3].value = digest_of_samples(set);
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
  Digest digest;
  for (const auto& file : files) digest.add(file);
  const bool none = error || files.empty();
  fields.push_back(
      {"files", which,
       none ? "" : std::to_string(files.size()) + " files with digest of names and sizes " + digest.text()});
}

}  // namespace cortado
