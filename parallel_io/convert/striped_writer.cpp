#include "parallel_io/convert/striped_writer.h"

#include <mpi.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/random.h"
#include "parallel_io/convert/new_arrays.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
namespace attribute = striped_attribute;
using hdf5::add_array;
using hdf5::dims_of;
using hdf5::write_array;
constexpr i64 alignment = 1 << 20;  // of arrays in their file: a whole number of any file system's blocks
constexpr i64 plain_block_bytes = i64{32} << 20;

hdf5::Handle aligned(const std::string& name) {
  hdf5::Handle list = hdf5::access_to(name);
  H5Pset_alignment(list.get(), 64 * 1024, alignment);
  return list;
}

/// Parallel HDF5 passes hints on: each stripe on one disk array.
hdf5::Handle access_list(const std::string& name, i64 stripe_bytes) {
  hdf5::Handle list = aligned(name);
#ifdef H5_HAVE_PARALLEL
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) {
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "striping_factor", "1");
    MPI_Info_set(hints, "striping_unit", std::to_string(std::min<i64>(stripe_bytes, i64{1} << 30)).c_str());
    H5Pset_fapl_mpio(list.get(), MPI_COMM_SELF, hints);
    MPI_Info_free(&hints);
  }
#else
  (void)stripe_bytes;
#endif
  return list;
}

/// The name of a stripe that is not whole.
std::string beside(const std::string& stripe) { return stripe + ".new"; }

hid_t type_of(Stored stored) { return stored == Stored::float32 ? H5T_IEEE_F32LE : H5T_STD_U8LE; }

}  // namespace

StripedWriter::StripedWriter(const DataSet& set, const std::string& to, const WriteOptions& options,
                             const WritePlan& plan, const Replicas& ranks)
    : set_(set),
      to_(to),
      plain_(options.format == Format::hdf5),
      only_fields_(options.only_fields),
      unnamed_(options.unnamed),
      ranks_(ranks),
      from_(options.from),
      id_(static_cast<i64>(mix64(std::hash<std::string>()(plan.text + to)) >> 1)) {
  const i64 bytes = plain_ ? std::min(options.stripe_bytes, plain_block_bytes) : options.stripe_bytes;
  layout_.samples = set.samples();
  layout_.block = std::clamp<i64>(bytes / std::max<i64>(1, set.fields()[0].sample_bytes()), 1, set.samples());
  const i64 most = unnamed_ != nullptr ? static_cast<i64>(unnamed_->size()) : options.stripes;
  layout_.stripes = plain_ ? 1 : std::min(most, layout_.blocks());
  name_stripes(to, options);
  if (unnamed_ == nullptr) {
    std::vector<std::string> works = names_;
    if (plain_) works.push_back(beside(names_[0]));
    note_.emplace(to, plan, ranks, works);
  }
  for (i64 s = ranks.rank(); s < layout_.stripes; s += ranks.size())
    if (unnamed_ != nullptr || !is_taken(names_[static_cast<std::size_t>(s)])) make_stripe(s);
  meet(ranks);
  for (i64 s = 0; s < layout_.stripes; ++s) stripes_.push_back(open_stripe(s));
  sums_.assign(static_cast<std::size_t>(channels()), 0);
}

i64 StripedWriter::channels() const {
  const auto& data = set_.fields()[0];
  return data.stored == Stored::encoded ? 0 : data.sample_shape.size() == 3 ? data.sample_shape[0] : 1;
}

void StripedWriter::name_stripes(const std::string& to, const WriteOptions& options) {
  if (unnamed_ != nullptr) {
    for (i64 s = 0; s < layout_.stripes; ++s) names_.push_back(path_of((*unnamed_)[static_cast<std::size_t>(s)]));
    names_in_master_ = names_;
    return;
  }
  if (plain_) {
    names_ = {to + ".unfinished"};
    return;
  }
  const fs::path home = fs::absolute(to).parent_path();
  const std::string stem = fs::path(to).stem().string();
  for (i64 s = 0; s < layout_.stripes; ++s) {
    char number[32];
    std::snprintf(number, sizeof number, ".%03lld.h5", static_cast<long long>(s));
    const bool beside = options.folders.empty();
    const fs::path folder = beside ? fs::path(to + ".stripes")
                                   : fs::path(options.folders[static_cast<std::size_t>(s) % options.folders.size()]);
    const fs::path name = folder / (stem + number);
    names_.push_back(name.string());
    names_in_master_.push_back(folder.is_absolute() ? name.string() : fs::proximate(fs::absolute(name), home).string());
  }
}

void StripedWriter::make_stripe(i64 stripe) const {
  const std::string& name = names_[static_cast<std::size_t>(stripe)];
  if (unnamed_ != nullptr) return fill_stripe(name, H5F_ACC_TRUNC, stripe);
  const std::string made = beside(name);
  make_folders(folder_of(name));
  if (note_->goes_on()) ::unlink(made.c_str());
  try {
    fill_stripe(made, H5F_ACC_EXCL, stripe);
  } catch (const Error&) {
    ::unlink(made.c_str());
    throw;
  }
  if (std::rename(made.c_str(), name.c_str()) != 0) throw FileError(name, "cannot be renamed from " + made);
}

/// Makes the file with all that is known before values.
void StripedWriter::fill_stripe(const std::string& name, unsigned how, i64 stripe) const {
  const hdf5::Quiet quiet;
  const hdf5::Handle access =
      how == H5F_ACC_EXCL ? access_list(name, layout_.block * set_.fields()[0].sample_bytes()) : aligned(name);
  const hdf5::Handle file(H5Fcreate(name.c_str(), how, H5P_DEFAULT, access.get()), H5Fclose);
  if (file.get() < 0)
    throw FileError(name, "cannot be created: " + quiet.reason(), "check the folder and its permissions");
  write_identity(file.get(), name);
  hdf5::write_attribute(file.get(), attribute::stripe, stripe, name);
  if (plain_ && !set_.classes().empty()) hdf5::write_attribute(file.get(), attribute::classes, set_.classes(), name);
  add_arrays(file.get(), stripe);
  hdf5::flush(file.get(), name);
}

void StripedWriter::add_arrays(hid_t file, i64 stripe) const {
  const i64 samples = layout_.samples_in(stripe);
  const std::string& name = names_[static_cast<std::size_t>(stripe)];
  for (const auto& field : set_.fields()) {
    if (field.stored == Stored::encoded) {
      const auto places = encoded_places(stripe);
      const auto bytes = places.empty() ? 0 : places[places.size() - 2] + places.back();
      add_array(file, name, field.name + "_place", H5T_STD_U64LE, {static_cast<hsize_t>(samples), 2}, false);
      write_array(file, name, field.name + "_place", H5T_NATIVE_UINT64, places.data());
      const hdf5::Handle array(H5Dopen2(file, (field.name + "_place").c_str(), H5P_DEFAULT), H5Dclose);
      std::vector<std::string> shape;
      for (const i64 d : field.sample_shape) shape.push_back(std::to_string(d));
      hdf5::write_attribute(array.get(), attribute::sample_shape, shape, name);
      add_array(file, name, field.name, H5T_STD_U8LE, {bytes}, false);
    } else {
      add_array(file, name, field.name, type_of(field.stored), dims_of(samples, field.sample_shape), false);
    }
    add_array(file, name, field.name + "_crc", H5T_STD_U32LE, {static_cast<hsize_t>(samples)}, false);
  }
  const auto blocks = static_cast<hsize_t>(layout_.blocks_in(stripe));
  add_array(file, name, "block_done", H5T_STD_U8LE, {blocks}, true);
  if (channels() > 0)
    add_array(file, name, "block_sum", H5T_IEEE_F64LE, {blocks, static_cast<hsize_t>(channels())}, true);
}

/// Sizes are known only from the samples themselves, so encoded images are read twice.
std::vector<std::uint64_t> StripedWriter::encoded_places(i64 stripe) const {
  std::vector<std::uint64_t> places;
  std::uint64_t at = 0;
  std::vector<Values> values;
  for (i64 k = 0; k < layout_.blocks_in(stripe); ++k) {
    const i64 b = stripe + k * layout_.stripes;
    for (i64 sample = layout_.first_of(b); sample < layout_.first_of(b) + layout_.size_of(b); ++sample) {
      set_.read(&sample, 1, values);
      const std::uint64_t bytes = values[0].bytes.size();
      places.insert(places.end(), {at, bytes});
      at += bytes;
    }
  }
  return places;
}

StripedWriter::Stripe StripedWriter::open_stripe(i64 stripe) const {
  const std::string& name = names_[static_cast<std::size_t>(stripe)];
  const hdf5::File file(name);
  if (hdf5::read_number(file.id(), attribute::id, name) != id_ ||
      hdf5::read_number(file.id(), attribute::stripe, name) != stripe)
    throw FileError(name, "is there already, and belongs to another set", "remove it, or give another name");
  Stripe made{unnamed_ != nullptr ? RawFile::again((*unnamed_)[static_cast<std::size_t>(stripe)])
                                  : RawFile(name, RawFile::For::writing),
              {}};
  for (const auto& field : set_.fields()) {
    Column column;
    column.values = hdf5::Array(file, field.name).offset();
    column.checksums = hdf5::Array(file, field.name + "_crc").offset();
    if (field.stored == Stored::encoded) column.places = hdf5::Array(file, field.name + "_place").offset();
    made.columns.push_back(column);
  }
  made.done = hdf5::Array(file, "block_done").offset();
  if (channels() > 0) made.sums = hdf5::Array(file, "block_sum").offset();
  return made;
}

bool StripedWriter::is_done(i64 block) const {
  const Stripe& stripe = stripes_[static_cast<std::size_t>(layout_.stripe_of(block))];
  std::uint8_t done = 0;
  stripe.raw.read(stripe.done + block / layout_.stripes, 1, &done);
  return done == 1;
}

void StripedWriter::write(i64 first, i64 count, const std::vector<Values>& values) {
  const i64 b = first / layout_.block, place = layout_.place_of(b) + first - layout_.first_of(b);
  Stripe& stripe = stripes_[static_cast<std::size_t>(layout_.stripe_of(b))];
  for (std::size_t f = 0; f < values.size(); ++f) {
    const auto& field = set_.fields()[f];
    const Values& v = values[f];
    const bool encoded = field.stored == Stored::encoded;
    std::vector<std::uint32_t> checksums;
    for (i64 i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const i64 begin = encoded ? v.begin[at] : i * field.sample_bytes();
      const i64 bytes = encoded ? v.begin[at + 1] - begin : field.sample_bytes();
      checksums.push_back(
          static_cast<std::uint32_t>(crc32_z(0, v.bytes.data() + begin, static_cast<std::size_t>(bytes))));
    }
    stripe.raw.write(stripe.columns[f].checksums + place * 4, count * 4, checksums.data());
    i64 offset = place * field.sample_bytes();
    if (encoded) {
      std::uint64_t where[2] = {};
      stripe.raw.read(stripe.columns[f].places + place * 16, 16, where);
      offset = static_cast<i64>(where[0]);
    }
    stripe.raw.write(stripe.columns[f].values + offset, static_cast<i64>(v.bytes.size()), v.bytes.data());
  }
  add_to_sums(count, values[0]);
}

void StripedWriter::add_to_sums(i64 count, const Values& values) {
  const auto& data = set_.fields()[0];
  const auto planes = static_cast<i64>(sums_.size());
  if (planes == 0) return;
  const i64 size = count_of(data.sample_shape) / planes;
  const auto* const floats = reinterpret_cast<const float*>(values.bytes.data());
  for (i64 plane = 0; plane < count * planes; ++plane) {
    const i64 begin = plane * size;
    double& sum = sums_[static_cast<std::size_t>(plane % planes)];
    if (data.stored == Stored::float32)
      sum = std::accumulate(floats + begin, floats + begin + size, sum);
    else
      sum += static_cast<double>(
          std::accumulate(values.bytes.data() + begin, values.bytes.data() + begin + size, std::uint64_t{0}));
  }
}

void StripedWriter::finish_block(i64 block) {
  Stripe& stripe = stripes_[static_cast<std::size_t>(layout_.stripe_of(block))];
  const i64 k = block / layout_.stripes, bytes = channels() * static_cast<i64>(sizeof(double));
  if (channels() > 0) stripe.raw.write(stripe.sums + k * bytes, bytes, sums_.data());
  std::fill(sums_.begin(), sums_.end(), 0.0);
  stripe.raw.sync();  // nothing is called done that a failing machine could lose
  const std::uint8_t done = 1;
  stripe.raw.write(stripe.done + k, 1, &done);
}

void StripedWriter::check_done() const {
  for (i64 b = 0; b < layout_.blocks(); ++b) require(is_done(b), "all blocks of a finished set are written");
}

std::vector<double> StripedWriter::mean() const {
  std::vector<double> total(static_cast<std::size_t>(channels())), part(total);
  for (i64 b = 0; b < layout_.blocks() && channels() > 0; ++b) {
    const Stripe& stripe = stripes_[static_cast<std::size_t>(layout_.stripe_of(b))];
    const i64 bytes = channels() * static_cast<i64>(sizeof(double));
    stripe.raw.read(stripe.sums + b / layout_.stripes * bytes, bytes, part.data());
    for (std::size_t c = 0; c < total.size(); ++c) total[c] += part[c];
  }
  const i64 values = count_of(set_.fields()[0].sample_shape) / std::max<i64>(1, channels()) * layout_.samples;
  for (double& sum : total) sum /= static_cast<double>(values);
  return total;
}

void StripedWriter::finish() {
  if (ranks_.rank() == 0) {
    check_done();
    for (const Stripe& stripe : stripes_) stripe.raw.sync();
    if (plain_) {
      if (only_fields_) leave_fields();
      if (unnamed_ == nullptr && (is_taken(to_) || std::rename(names_[0].c_str(), to_.c_str()) != 0))
        throw FileError(to_, "cannot be renamed from " + names_[0]);
    } else {
      write_master();
    }
    if (note_) note_->remove();
  }
  meet(ranks_);
}

/// Removes arrays that only the writing needed.
void StripedWriter::leave_fields() const {
  const auto lock = hdf5::library_lock();
  const hdf5::Quiet quiet;
  const hdf5::Handle file(H5Fopen(names_[0].c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  std::vector<std::string> arrays = {"block_done"};
  if (channels() > 0) arrays.emplace_back("block_sum");
  for (const auto& field : set_.fields()) arrays.push_back(field.name + "_crc");
  for (const auto& array : arrays)
    if (file.get() < 0 || H5Ldelete(file.get(), array.c_str(), H5P_DEFAULT) < 0)
      throw FileError(names_[0], "array '" + array + "' cannot be removed: " + quiet.reason());
  hdf5::flush(file.get(), names_[0]);
}

}  // namespace cortado
