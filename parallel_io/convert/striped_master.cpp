#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "parallel_io/convert/new_arrays.h"
#include "parallel_io/convert/striped_writer.h"

namespace cortado {
namespace attribute = striped_attribute;
using hdf5::add_array;
using hdf5::dims_of;
using hdf5::write_array;

/// One array of the set over the stripes: the whole blocks of each by one regular pattern, a short last one by its own.
void StripedWriter::present(hid_t master, const std::string& array) const {
  const hdf5::Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  std::vector<hsize_t> dims;
  hdf5::Handle type;
  const auto block = static_cast<hsize_t>(layout_.block);
  for (i64 s = 0; s < layout_.stripes; ++s) {
    const hdf5::File file(names_[static_cast<std::size_t>(s)]);
    const hdf5::Array part(file, array);
    type = hdf5::Handle(H5Dget_type(part.id()), H5Tclose);
    dims = dims_of(part.samples(), part.sample_shape());
    const hdf5::Handle source(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    dims[0] = static_cast<hsize_t>(layout_.samples);
    const hdf5::Handle whole(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    const auto map = [&](i64 first, i64 place, hsize_t count, hsize_t size) {
      if (count == 0) return;
      std::vector<hsize_t> start(dims.size(), 0), step(dims.size(), 1), counts(dims.size(), 1), extent(dims);
      start[0] = static_cast<hsize_t>(first);
      step[0] = static_cast<hsize_t>(layout_.stripes) * block;
      counts[0] = count;
      extent[0] = size;
      H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, start.data(), step.data(), counts.data(), extent.data());
      start[0] = static_cast<hsize_t>(place);
      step[0] = size;
      H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, start.data(), step.data(), counts.data(), extent.data());
      H5Pset_virtual(list.get(), whole.get(), names_in_master_[static_cast<std::size_t>(s)].c_str(), array.c_str(),
                     source.get());
    };
    const i64 last = s + (layout_.blocks_in(s) - 1) * layout_.stripes;
    const bool is_short = layout_.size_of(last) < layout_.block;
    map(layout_.first_of(s), 0, static_cast<hsize_t>(layout_.blocks_in(s) - (is_short ? 1 : 0)), block);
    if (is_short) map(layout_.first_of(last), layout_.place_of(last), 1, static_cast<hsize_t>(layout_.size_of(last)));
  }
  const hdf5::Quiet quiet;
  const hdf5::Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const hdf5::Handle made(
      H5Dcreate2(master, array.c_str(), type.get(), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
  if (made.get() < 0) throw FileError(to_, "array '" + array + "' cannot be presented: " + quiet.reason());
}

/// The bytes of all blocks in a row, and where each sample begins among them.
void StripedWriter::present_encoded(hid_t master, const std::string& field, std::size_t column) const {
  std::vector<std::uint64_t> places(static_cast<std::size_t>(2 * layout_.samples));
  std::vector<hsize_t> begins;
  hsize_t total = 0;
  for (i64 b = 0; b < layout_.blocks(); ++b) {
    const Stripe& stripe = stripes_[static_cast<std::size_t>(layout_.stripe_of(b))];
    std::uint64_t* const own = places.data() + 2 * layout_.first_of(b);
    stripe.raw.read(stripe.columns[column].places + layout_.place_of(b) * 16, layout_.size_of(b) * 16, own);
    begins.push_back(own[0]);
    for (i64 i = 0; i < layout_.size_of(b); ++i) {
      own[2 * i] = total;
      total += own[2 * i + 1];
    }
  }
  const hdf5::Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose),
      whole(H5Screate_simple(1, &total, nullptr), H5Sclose);
  for (i64 b = 0; b < layout_.blocks(); ++b) {
    const i64 first = layout_.first_of(b), last = first + layout_.size_of(b) - 1;
    const hsize_t begin = places[static_cast<std::size_t>(2 * first)];
    const hsize_t bytes =
        places[static_cast<std::size_t>(2 * last)] + places[static_cast<std::size_t>(2 * last + 1)] - begin;
    H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, &begin, nullptr, &bytes, nullptr);
    const auto s = static_cast<std::size_t>(layout_.stripe_of(b));
    const hdf5::File file(names_[s]);
    const auto in_stripe = static_cast<hsize_t>(hdf5::Array(file, field).samples());
    const hdf5::Handle source(H5Screate_simple(1, &in_stripe, nullptr), H5Sclose);
    H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, &begins[static_cast<std::size_t>(b)], nullptr, &bytes, nullptr);
    H5Pset_virtual(list.get(), whole.get(), names_in_master_[s].c_str(), field.c_str(), source.get());
  }
  const hdf5::Quiet quiet;
  const hdf5::Handle made(
      H5Dcreate2(master, field.c_str(), H5T_STD_U8LE, whole.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
  if (made.get() < 0) throw FileError(to_, "array '" + field + "' cannot be presented: " + quiet.reason());
  add_array(master, to_, field + "_place", H5T_STD_U64LE, {static_cast<hsize_t>(layout_.samples), 2}, false);
  write_array(master, to_, field + "_place", H5T_NATIVE_UINT64, places.data());
}

void StripedWriter::write_master() const {
  if (unnamed_ != nullptr) return fill_master(to_);
  NewFile master(to_);
  fill_master(master.path());
  master.create();
}

void StripedWriter::write_identity(hid_t file, const std::string& where) const {
  hdf5::write_attribute(file, attribute::version, i64{1}, where);
  hdf5::write_attribute(file, attribute::id, id_, where);
  hdf5::write_attribute(file, attribute::samples, layout_.samples, where);
  hdf5::write_attribute(file, attribute::block, layout_.block, where);
  hdf5::write_attribute(file, attribute::from, std::vector<std::string>{from_}, where);
}

void StripedWriter::fill_master(const std::string& path) const {
  const hdf5::Quiet quiet;
  const hdf5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, hdf5::access_to(path).get()), H5Fclose);
  if (file.get() < 0)
    throw FileError(to_, "cannot be created: " + quiet.reason(), "check the folder and its permissions");
  write_identity(file.get(), to_);
  hdf5::write_attribute(file.get(), attribute::stripes, names_in_master_, to_);
  hdf5::write_attribute(file.get(), attribute::layout, std::vector<std::string>{"channels height width"}, to_);
  if (!set_.classes().empty()) hdf5::write_attribute(file.get(), attribute::classes, set_.classes(), to_);
  if (channels() > 0) hdf5::write_attribute(file.get(), attribute::mean, mean(), to_);
  for (std::size_t f = 0; f < set_.fields().size(); ++f) {
    const auto& field = set_.fields()[f];
    if (field.stored == Stored::encoded)
      present_encoded(file.get(), field.name, f);
    else
      present(file.get(), field.name);
    present(file.get(), field.name + "_crc");
  }
  hdf5::flush(file.get(), to_);
}

}  // namespace cortado
