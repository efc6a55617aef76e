#include "layers/hdf5_output/hdf5_output.h"

#include <filesystem>

#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
Shape row_of(const Blob& blob) { return {blob.shape().begin() + 1, blob.shape().end()}; }
}  // namespace

void Hdf5OutputLayer::setup(const Blobs& bottom, const Blobs&) {
  if (parameter().hdf5_output_param().file_name().empty())
    bad_config("names no file", "say hdf5_output_param { file_name: \"...\" }");
  if (services().sinks == nullptr) bad_config("no files can be written here");
  for (const Blob* blob : bottom) {
    if (blob->axes() == 0) bad_shape("a bottom is a single value", "give bottoms whose first axis counts samples");
    rows_.push_back(row_of(*blob));
  }
  held_ = hold_file(file_name(),
                    "layer '" + name() + "' of " + (run().phase == Phase::train ? "the training net" : "a test net"));
}

void Hdf5OutputLayer::reshape(const Blobs& bottom, const Blobs&) {
  if (bottom[0]->dim(0) != bottom[1]->dim(0))
    bad_shape("its bottoms have " + std::to_string(bottom[0]->dim(0)) + " and " + std::to_string(bottom[1]->dim(0)) +
              " samples");
  for (std::size_t i = 0; i < bottom.size(); ++i)
    if (row_of(*bottom[i]) != rows_[i])
      bad_shape("samples of bottom " + std::to_string(i) + " have shape " + to_string(row_of(*bottom[i])) +
                ", those in the file have " + to_string(rows_[i]));
}

std::string Hdf5OutputLayer::file_name() const {
  const std::filesystem::path name = parameter().hdf5_output_param().file_name();
  if (run().writers == 1) return name.string();
  const std::string rank = ".rank" + std::to_string(run().writer);
  return (name.parent_path() / (name.stem().string() + rank + name.extension().string())).string();
}

void Hdf5OutputLayer::forward(const Blobs& bottom, const Blobs&) {
  const i64 rows = bottom[0]->dim(0);
  if (!sink_) {
    const i64 before = run().phase == Phase::train ? run().pass * rows : 0;
    sink_ = services().sinks->open(file_name(), {{"data", rows_[0]}, {"label", rows_[1]}}, before);
  }
  const std::vector<float> data = bottom[0]->data_vector(), label = bottom[1]->data_vector();
  sink_->append(rows, {data.data(), label.data()});
}

}  // namespace cortado
