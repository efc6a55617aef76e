#include "parallel_io/sources.h"

#include <mutex>

#include "parallel_io/hdf5_list.h"

namespace cortado {
namespace {

/// The HDF5 library is not for several threads at a time, and each core group of a process reads in its own.
std::mutex& one_reader() {
  static std::mutex mutex;
  return mutex;
}

class OneReaderAtATime : public BatchSource {
 public:
  explicit OneReaderAtATime(std::unique_ptr<BatchSource> source) : source_(std::move(source)) {}
  ~OneReaderAtATime() override {
    const std::lock_guard<std::mutex> lock(one_reader());
    source_.reset();
  }
  const std::vector<Field>& fields() const override { return source_->fields(); }
  i64 samples() const override { return source_->samples(); }
  void read(const i64* indices, i64 count, const std::vector<float*>& to) override {
    const std::lock_guard<std::mutex> lock(one_reader());
    source_->read(indices, count, to);
  }

 private:
  std::unique_ptr<BatchSource> source_;
};

}  // namespace

std::unique_ptr<BatchSource> Sources::open_hdf5_list(const std::string& list_file,
                                                     const std::vector<std::string>& fields) const {
  const std::lock_guard<std::mutex> lock(one_reader());
  return std::make_unique<OneReaderAtATime>(std::make_unique<Hdf5List>(list_file, fields));
}

}  // namespace cortado
