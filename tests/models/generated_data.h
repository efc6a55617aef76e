#pragma once
#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "parallel_io/convert/convert.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test {

/// Small data sets in place of those below data/ that nets of models/ name: generated digits for MNIST and for the
/// generated digits themselves, constants for CIFAR-10, sequences of ones.
class GeneratedData {
 public:
  explicit GeneratedData(i64 digits) {
    DigitOptions counts;
    counts.train = digits, counts.test = 100;
    FolderOptions to;
    to.scale = 1.0f / 256;
    to.to = folder_.file("digits");
    convert_digits(counts, to, {});
    for (const char* set : {"cifar10", "cifar10_bytes"}) constants(set, {{"data", {100, 3, 32, 32}}, {"label", {100}}});
    constants("sequences", {{"x", {40, 32, 1}}, {"cont", {40, 32}}, {"label", {40, 32, 1}}});
  }

  /// Makes all layers of a net that read data read these sets, in batches of at most so many samples if `batch` is
  /// given.
  void feed(caffe::NetParameter& net, int batch = 0) const {
    for (auto& layer : *net.mutable_layer()) {
      if (layer.has_hdf5_data_param()) feed_layer(*layer.mutable_hdf5_data_param(), batch);
      if (layer.has_data_param()) feed_layer(*layer.mutable_data_param(), batch);
    }
  }

 private:
  template <typename Parameter>
  void feed_layer(Parameter& parameter, int batch) const {
    const std::filesystem::path source = parameter.source();  // data/SET/PHASE.txt
    const std::string set = source.parent_path().filename().string();
    parameter.set_source((folder_.path() / (set == "mnist" ? "digits" : set) / source.filename()).string());
    if (batch > 0) parameter.set_batch_size(std::min<decltype(parameter.batch_size())>(parameter.batch_size(), batch));
  }

  void constants(const std::string& set, const std::vector<std::pair<std::string, Shape>>& arrays) const {
    std::filesystem::create_directory(folder_.path() / set);
    std::vector<Hdf5Array> filled;
    for (const auto& [name, shape] : arrays)
      filled.push_back({name, shape, H5T_IEEE_F32LE, std::vector<float>(static_cast<std::size_t>(count_of(shape)), 1)});
    for (const std::string phase : {"train", "test"}) {
      write_hdf5(folder_.file(set + "/" + phase + ".h5"), filled);
      folder_.write(set + "/" + phase + ".txt", phase + ".h5\n");
    }
  }

  TemporaryFolder folder_;
};

}  // namespace cortado::test
