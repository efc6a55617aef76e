#pragma once
#include <optional>

#include "parallel_io/convert/set_writer.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/raw_file.h"
#include "parallel_io/sets/striped.h"

namespace cortado {

/// Writes HDF5: a striped set (StripedLayout), or one plain file. The plain file is one stripe that gets the set's
/// name. Parallel HDF5 makes stripes where the library has it, and passes striping hints to file systems that take
/// them. Then every rank writes its blocks at the arrays' offsets. Stripes record their finished blocks.
class StripedWriter : public SetWriter {
 public:
  StripedWriter(const DataSet& set, const std::string& to, const WriteOptions& options, const WritePlan& plan,
                const Replicas& ranks);
  i64 block() const override { return layout_.block; }
  bool is_done(i64 block) const override;
  bool takes_many() const override { return true; }
  void write(i64 first, i64 count, const std::vector<Values>& values) override;
  void finish_block(i64 block) override;
  void finish() override;

 private:
  /// Offsets of a field's arrays in one stripe.
  struct Column {
    i64 values = -1, places = -1, checksums = -1;
  };
  struct Stripe {
    RawFile raw;
    std::vector<Column> columns;
    i64 done = -1, sums = -1;
  };

  void name_stripes(const std::string& to, const WriteOptions& options);
  void make_stripe(i64 stripe) const;
  void fill_stripe(const std::string& name, unsigned how, i64 stripe) const;
  void add_arrays(hid_t file, i64 stripe) const;
  Stripe open_stripe(i64 stripe) const;
  /// The begin and size of each sample in a stripe's row of bytes.
  std::vector<std::uint64_t> encoded_places(i64 stripe) const;
  void write_encoded(std::size_t field, i64 block, i64 first, i64 count, const Values& values);
  void add_to_sums(i64 count, const Values& values);
  void check_done() const;
  std::vector<double> mean() const;
  void leave_fields() const;
  void write_master() const;
  /// Writes the attributes that the master and every stripe share, which identify their set.
  void write_identity(hid_t file, const std::string& where) const;
  void fill_master(const std::string& path) const;
  void present(hid_t master, const std::string& array) const;
  void present_encoded(hid_t master, const std::string& field, std::size_t column) const;
  i64 channels() const;

  const DataSet& set_;
  const std::string to_;
  const bool plain_, only_fields_;
  const std::vector<Descriptor>* const unnamed_;
  const Replicas& ranks_;
  const std::string from_;
  StripedLayout layout_;
  i64 id_ = 0;
  std::vector<std::string> names_, names_in_master_;
  std::optional<Unfinished> note_;
  std::vector<Stripe> stripes_;
  std::vector<double> sums_;  // sums of the block at hand, by channel
};

}  // namespace cortado
