#include "parallel_io/sets/hdf5_set.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/formats/files.h"
#include "parallel_io/sets/list_file.h"
#include "parallel_io/sets/striped.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
namespace attribute = striped_attribute;

std::vector<ListFile::Line> read_lines(const std::string& file) {
  if (!looks_like_text(file))
    throw FileError(file, "is no text and no HDF5 file", "it should list HDF5 files, one per line");
  std::vector<ListFile::Line> lines;
  const ListFile list(RawFile(file), [&](const ListFile::Line& line) { lines.push_back(line); });
  if (lines.empty()) throw FileError(file, "lists no files", "it should list HDF5 files, one per line");
  return lines;
}

/// A file of a list, where it is.
std::string listed(const ListFile::Line& line, const std::string& list) {
  const fs::path path = line.text, near = fs::path(list).parent_path() / path;
  std::string reason = "which is not there";
  try {
    if (exists(path.string())) return path;
    if (path.is_relative() && exists(near.string())) return near;
  } catch (const FileError&) { reason = "which is no name of a file that can be read"; }
  throw FileError(list + " line " + std::to_string(line.number), "names '" + line.text.substr(0, 80) + "', " + reason,
                  list + " is a text, so each of its lines is taken for the name of an HDF5 file");
}

bool is_list(const std::string& path) { return first_bytes(path, 4) != "\x89HDF"; }

/// Offset of an array that the format keeps contiguous; -1 if the file has none.
i64 side_array(const hdf5::File& file, const std::string& name, i64 samples) {
  {
    const hdf5::Quiet quiet;
    if (H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) <= 0) return -1;
  }
  const hdf5::Array array(file, name);
  if (array.samples() != samples || array.offset() < 0)
    throw FileError(file.name(), "array '" + name + "' has " + std::to_string(array.samples()) + " samples, " +
                                     std::to_string(samples) + " are due");
  return array.offset();
}

}  // namespace

Hdf5Set::Hdf5Set(const std::string& path, const OpenOptions& options)
    : path_(path),
      verify_(options.verify),
      any_shape_(options.any_shape),
      most_cached_(options.cache_bytes / std::max<i64>(1, static_cast<i64>(options.fields.size()))) {
  const auto lock = hdf5::library_lock();
  if (is_list(path)) {
    open_list(path, options);
  } else {
    const hdf5::File file(path);
    if (hdf5::has_attribute(file.id(), attribute::stripes))
      open_striped(path, file, options);
    else
      add_file(path, options.fields);
    if (hdf5::has_attribute(file.id(), attribute::classes))
      classes_ = hdf5::read_strings(file.id(), attribute::classes, path);
  }
  if (pieces_.empty())
    for (std::size_t f = 0; f < files_.size(); ++f) {
      if (files_[f].samples > 0) pieces_.push_back({samples_, files_[f].samples, f, 0});
      samples_ += files_[f].samples;
    }
  if (samples_ == 0) throw FileError(path, "holds no samples");
  if (block_ == 0) block_ = pieces_[0].count;
  settle_fields(options.fields);
  fill_cache(options.cache_bytes);
  for (std::size_t f = 0; verify_ && f < fields_.size(); ++f)
    for (const OneFile& file : files_)
      if (file.columns[f].checksums < 0)
        throw FileError(file.raw.name(), "has no checksums of '" + fields_[f].name + "'",
                        "read it without verifying, or make it anew with cortado convert");
}

void Hdf5Set::open_list(const std::string& path, const OpenOptions& options) {
  const auto lines = read_lines(path);
  most_cached_ /= static_cast<i64>(lines.size());
  for (const auto& line : lines) add_file(listed(line, path), options.fields);
}

void Hdf5Set::open_striped(const std::string& path, const hdf5::File& master, const OpenOptions& options) {
  if (hdf5::read_number(master.id(), attribute::version, path) != 1)
    throw FileError(path, "is a striped set of a newer version than this program reads");
  const auto names = hdf5::read_strings(master.id(), attribute::stripes, path);
  const i64 id = hdf5::read_number(master.id(), attribute::id, path);
  const StripedLayout layout{hdf5::read_number(master.id(), attribute::samples, path),
                             hdf5::read_number(master.id(), attribute::block, path), static_cast<i64>(names.size())};
  if (layout.samples < 1 || layout.block < 1 || layout.stripes < 1) throw FileError(path, "is a broken striped set");
  for (std::size_t s = 0; s < names.size(); ++s) {
    const std::string name = (fs::path(path).parent_path() / names[s]).string();
    add_file(name, options.fields);
    const OneFile& stripe = files_.back();
    if (hdf5::read_number(stripe.hdf5.id(), attribute::id, name) != id ||
        hdf5::read_number(stripe.hdf5.id(), attribute::stripe, name) != static_cast<i64>(s))
      throw FileError(name, "is not stripe " + std::to_string(s) + " of " + path, "it belongs to another set");
    if (stripe.samples != layout.samples_in(static_cast<i64>(s)))
      throw FileError(name, "has " + std::to_string(stripe.samples) + " samples, " +
                                std::to_string(layout.samples_in(static_cast<i64>(s))) + " are due");
  }
  for (i64 b = 0; b < layout.blocks(); ++b)
    pieces_.push_back(
        {layout.first_of(b), layout.size_of(b), static_cast<std::size_t>(layout.stripe_of(b)), layout.place_of(b)});
  samples_ = layout.samples;
  block_ = layout.block;
}

Hdf5Set::Column Hdf5Set::open_column(const hdf5::File& file, const RawFile& raw, const std::string& name) const {
  Column column{hdf5::Array(file, name, most_cached_)};
  const i64 width = column.values.is_uint8() ? 1 : column.values.is_float32() ? 4 : 0;
  if (width > 0) column.offset = column.values.offset();
  if (column.offset < 0) return column;
  const i64 end = column.offset + column.values.samples() * count_of(column.values.sample_shape()) * width;
  if (end > raw.bytes())
    throw FileError(file.name(), "is truncated: it has " + std::to_string(raw.bytes()) + " bytes, '" + name +
                                     "' ends at " + std::to_string(end));
  return column;
}

void Hdf5Set::add_file(const std::string& name, const std::vector<std::string>& wanted) {
  hdf5::File file(name);
  OneFile one{RawFile(name), std::move(file), {}, 0};
  for (const auto& field : wanted) {
    Column column = open_column(one.hdf5, one.raw, field);
    i64 samples = column.values.samples();
    const std::string places = field + "_place";
    if (H5Lexists(one.hdf5.id(), places.c_str(), H5P_DEFAULT) > 0) {
      samples = hdf5::Array(one.hdf5, places).samples();
      column.places = side_array(one.hdf5, places, samples);
    }
    if (!one.columns.empty() && samples != one.samples)
      throw FileError(name, "data set '" + field + "' has " + std::to_string(samples) + " samples, '" + wanted[0] +
                                "' has " + std::to_string(one.samples));
    one.samples = samples;
    column.checksums = side_array(one.hdf5, field + "_crc", samples);
    one.columns.push_back(std::move(column));
  }
  if (H5Lexists(one.hdf5.id(), "block_done", H5P_DEFAULT) > 0) {
    const hdf5::Array done(one.hdf5, "block_done");
    std::vector<float> flags(static_cast<std::size_t>(done.samples()));
    done.read(0, done.samples(), flags.data());
    const auto written = std::count(flags.begin(), flags.end(), 1.0f);
    if (written != done.samples())
      throw FileError(
          name,
          "is unfinished: " + std::to_string(written) + " of " + std::to_string(done.samples()) + " blocks are written",
          "run the same cortado convert again to finish it");
  }
  files_.push_back(std::move(one));
}

/// Sets the fields on which all files agree. Fields are read as bytes only if all files hold bytes.
void Hdf5Set::settle_fields(const std::vector<std::string>& wanted) {
  const auto& first = files_[0];
  for (std::size_t f = 0; f < wanted.size(); ++f) {
    Field field{wanted[f], first.columns[f].values.sample_shape(), Stored::uint8};
    for (const OneFile& file : files_) {
      const Column& column = file.columns[f];
      if (!column.values.is_uint8()) field.stored = Stored::float32;
      if (column.values.sample_shape() == first.columns[f].values.sample_shape()) continue;
      has_shapes_ = any_shape_ && !verify_ && column.places < 0;
      if (!has_shapes_)
        throw FileError(file.raw.name(),
                        "samples of '" + wanted[f] + "' have shape " + to_string(column.values.sample_shape()) +
                            ", those of " + first.raw.name() + " have " +
                            to_string(first.columns[f].values.sample_shape()),
                        "give all files one shape, or say batch_size: 1");
    }
    if (first.columns[f].places >= 0) {
      field.stored = Stored::encoded;
      field.sample_shape.clear();
      const hdf5::Array places(first.hdf5, wanted[f] + "_place");
      for (const auto& size : hdf5::read_strings(places.id(), attribute::sample_shape, first.raw.name()))
        field.sample_shape.push_back(std::stoll(size));
    }
    if (count_of(field.sample_shape) == 0)
      throw FileError(first.raw.name(), "samples of '" + wanted[f] + "' have shape " + to_string(field.sample_shape) +
                                            ", which holds no values");
    fields_.push_back(field);
  }
}

bool Hdf5Set::is_raw(std::size_t field, std::size_t file) const {
  const Column& column = files_[file].columns[field];
  return column.offset >= 0 && (fields_[field].stored != Stored::float32 || column.values.is_float32());
}

/// Reading single samples of compressed arrays is slow, and all of them as float is what Caffe does too.
void Hdf5Set::fill_cache(i64 cache_bytes) {
  i64 bytes = 0;
  bool all_raw = true;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    bytes += samples_ * count_of(fields_[f].sample_shape) * 4;
    for (std::size_t file = 0; file < files_.size(); ++file) all_raw = all_raw && is_raw(f, file);
  }
  if (all_raw || bytes > cache_bytes || has_shapes_) return;
  std::vector<std::vector<float>> all;
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    fields_[f].stored = Stored::float32;
    const i64 size = count_of(fields_[f].sample_shape);
    all.emplace_back(static_cast<std::size_t>(samples_ * size));
    for (const Piece& piece : pieces_)
      files_[piece.file].columns[f].values.read(piece.place, piece.count, all.back().data() + piece.first * size);
  }
  cache_ = std::move(all);
}

std::string Hdf5Set::where(i64 sample) const {
  const i64 index = sample;
  const Wanted wanted = places_of(&index, 1)[0];
  return files_[wanted.file].raw.name() + ", sample " + std::to_string(sample);
}

/// Sorted by file and place, so that each file is read from front to back.
std::vector<Hdf5Set::Wanted> Hdf5Set::places_of(const i64* indices, i64 count) const {
  std::vector<Wanted> wanted;
  wanted.reserve(static_cast<std::size_t>(count));
  for (i64 i = 0; i < count; ++i) {
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), indices[i],
                                        [](i64 sample, const Piece& piece) { return sample < piece.first; });
    const Piece& piece = *std::prev(after);
    wanted.push_back({indices[i], piece.place + indices[i] - piece.first, piece.file, i});
  }
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return a.file != b.file ? a.file < b.file : a.place != b.place ? a.place < b.place : a.slot < b.slot;
  });
  return wanted;
}

bool Hdf5Set::is_new(const std::vector<Wanted>& wanted, std::size_t i) {
  return i == 0 || wanted[i].place != wanted[i - 1].place || wanted[i].file != wanted[i - 1].file;
}

template <class Read>
void Hdf5Set::by_file(const std::vector<Wanted>& wanted, Read read) const {
  for (std::size_t first = 0; first < wanted.size();) {
    std::size_t last = first + 1;
    while (last < wanted.size() && wanted[last].file == wanted[first].file) ++last;
    read(files_[wanted[first].file], first, last);
    first = last;
  }
}

void Hdf5Set::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(fields_.size());
  if (!cache_.empty()) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      const i64 size = count_of(fields_[f].sample_shape);
      to[f].bytes.resize(static_cast<std::size_t>(count * size * 4));
      for (i64 i = 0; i < count; ++i)
        std::memcpy(to[f].bytes.data() + i * size * 4, cache_[f].data() + indices[i] * size,
                    static_cast<std::size_t>(size) * 4);
    }
    return;
  }
  const std::vector<Wanted> wanted = places_of(indices, count);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].stored == Stored::encoded) {
      read_encoded(f, wanted, to[f]);
    } else if (has_shapes_) {
      read_any_shape(f, wanted, to[f]);
    } else {
      to[f].bytes.resize(static_cast<std::size_t>(count * fields_[f].sample_bytes()));
      read_fixed(f, wanted, to[f].bytes.data());
    }
    if (verify_) verify(f, wanted, to[f]);
  }
}

/// One sample after another, in the order of their slots.
void Hdf5Set::read_any_shape(std::size_t field, const std::vector<Wanted>& wanted, Values& to) const {
  std::vector<const Wanted*> by_slot(wanted.size());
  for (const Wanted& one : wanted) by_slot[static_cast<std::size_t>(one.slot)] = &one;
  const i64 width = fields_[field].stored == Stored::float32 ? 4 : 1;
  to.begin.assign(1, 0);
  to.shapes.clear();
  to.bytes.clear();
  for (const Wanted* const one : by_slot) {
    const OneFile& file = files_[one->file];
    const Column& column = file.columns[field];
    const i64 begin = to.begin.back(), bytes = width * count_of(column.values.sample_shape());
    to.bytes.resize(static_cast<std::size_t>(begin + bytes));
    std::uint8_t* const place = to.bytes.data() + begin;
    if (is_raw(field, one->file))
      file.raw.read(column.offset + one->place * bytes, bytes, place);
    else
      column.values.read(one->place, 1, reinterpret_cast<float*>(place));
    to.begin.push_back(begin + bytes);
    to.shapes.push_back(column.values.sample_shape());
  }
}

void Hdf5Set::read_fixed(std::size_t field, const std::vector<Wanted>& wanted, std::uint8_t* to) const {
  const i64 bytes = fields_[field].sample_bytes();
  by_file(wanted, [&](const OneFile& file, std::size_t first, std::size_t last) {
    const Column& column = file.columns[field];
    const bool raw = is_raw(field, wanted[first].file);
    std::vector<RawFile::Part> parts;
    for (std::size_t i = first; i < last; ++i)
      if (is_new(wanted, i))
        parts.push_back({column.offset + wanted[i].place * bytes, bytes, to + wanted[i].slot * bytes});
    if (raw)
      file.raw.read(parts);
    else
      read_by_library(column, wanted, first, last, reinterpret_cast<float*>(to));
    for (std::size_t i = first; i < last; ++i)
      if (!is_new(wanted, i))
        std::memcpy(to + wanted[i].slot * bytes, to + wanted[i - 1].slot * bytes, static_cast<std::size_t>(bytes));
  });
}

/// Neighbours that stay neighbours come in one call.
void Hdf5Set::read_by_library(const Column& column, const std::vector<Wanted>& wanted, std::size_t first,
                              std::size_t last, float* to) const {
  const i64 size = count_of(column.values.sample_shape());
  while (first < last) {
    std::size_t end = first + 1;
    const auto follows = [&](std::size_t i) {
      return wanted[i].place == wanted[i - 1].place + 1 && wanted[i].slot == wanted[i - 1].slot + 1;
    };
    while (end < last && follows(end)) ++end;
    column.values.read(wanted[first].place, static_cast<i64>(end - first), to + wanted[first].slot * size);
    first = end;
  }
}

void Hdf5Set::read_encoded(std::size_t field, const std::vector<Wanted>& wanted, Values& to) const {
  struct Place {
    std::uint64_t begin, bytes;
  };
  std::vector<Place> places(wanted.size());  // by place in `wanted`
  by_file(wanted, [&](const OneFile& file, std::size_t first, std::size_t last) {
    std::vector<RawFile::Part> parts;
    for (std::size_t i = first; i < last; ++i)
      if (is_new(wanted, i)) parts.push_back({file.columns[field].places + wanted[i].place * 16, 16, &places[i]});
    file.raw.read(parts);
    const auto all = static_cast<std::uint64_t>(file.columns[field].values.samples());
    for (std::size_t i = first; i < last; ++i) {
      if (!is_new(wanted, i)) places[i] = places[i - 1];
      if (places[i].begin > all || places[i].bytes > all - places[i].begin)
        throw FileError(where(wanted[i].sample), "lies outside its file, which is broken");
    }
  });
  to.begin.assign(wanted.size() + 1, 0);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    to.begin[static_cast<std::size_t>(wanted[i].slot) + 1] = static_cast<i64>(places[i].bytes);
  for (std::size_t i = 0; i < wanted.size(); ++i) to.begin[i + 1] += to.begin[i];
  to.bytes.resize(static_cast<std::size_t>(to.begin.back()));
  const auto slot = [&](std::size_t i) { return to.bytes.data() + to.begin[static_cast<std::size_t>(wanted[i].slot)]; };
  by_file(wanted, [&](const OneFile& file, std::size_t first, std::size_t last) {
    std::vector<RawFile::Part> parts;
    for (std::size_t i = first; i < last; ++i)
      if (is_new(wanted, i))
        parts.push_back({file.columns[field].offset + static_cast<i64>(places[i].begin),
                         static_cast<i64>(places[i].bytes), slot(i)});
    file.raw.read(parts);
    for (std::size_t i = first; i < last; ++i)
      if (!is_new(wanted, i)) std::memcpy(slot(i), slot(i - 1), places[i].bytes);
  });
}

void Hdf5Set::verify(std::size_t field, const std::vector<Wanted>& wanted, const Values& values) const {
  by_file(wanted, [&](const OneFile& file, std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> due(last - first);
    std::vector<RawFile::Part> parts;
    for (std::size_t i = first; i < last; ++i)
      if (is_new(wanted, i)) parts.push_back({file.columns[field].checksums + wanted[i].place * 4, 4, &due[i - first]});
    file.raw.read(parts);
    for (std::size_t i = first; i < last; ++i) {
      if (!is_new(wanted, i)) due[i - first] = due[i - first - 1];
      const auto slot = static_cast<std::size_t>(wanted[i].slot);
      const i64 bytes =
          values.begin.empty() ? fields_[field].sample_bytes() : values.begin[slot + 1] - values.begin[slot];
      const std::uint8_t* const begin =
          values.bytes.data() + (values.begin.empty() ? wanted[i].slot * bytes : values.begin[slot]);
      if (crc32_z(0, begin, static_cast<std::size_t>(bytes)) != due[i - first])
        throw FileError(where(wanted[i].sample), "'" + fields_[field].name + "' does not match its checksum",
                        "the file is damaged: make it anew or fetch it again");
    }
  });
}

}  // namespace cortado
