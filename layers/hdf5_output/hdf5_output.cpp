#include <filesystem>

#include "core/data/array_sink.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {
namespace {
Shape row_of(const Blob& blob) { return {blob.shape().begin() + 1, blob.shape().end()}; }

/// Caffe's HDF5Output: writes its bottoms, N samples each, to the arrays `data` and `label` of the HDF5 file
/// `file_name`. Every forward pass appends N rows, which are in the file afterwards. With several ranks, rank r writes
/// its own samples to a file of its own: "out.h5" becomes "out.rank3.h5".
///
/// The first pass replaces an existing file. Training that goes on from a snapshot continues the file instead, behind
/// the rows of the passes before that snapshot. It has no gradient, and works on the management side.
class Hdf5OutputLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  Arity tops() const override { return {0, 0}; }
  bool allows_backward_to(std::size_t /*i*/) const override { return false; }
  void setup(const Blobs& bottom, const Blobs&) override {
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

  void reshape(const Blobs& bottom, const Blobs&) override {
    if (bottom[0]->dim(0) != bottom[1]->dim(0))
      bad_shape("its bottoms have " + std::to_string(bottom[0]->dim(0)) + " and " + std::to_string(bottom[1]->dim(0)) +
                " samples");
    for (std::size_t i = 0; i < bottom.size(); ++i)
      if (row_of(*bottom[i]) != rows_[i])
        bad_shape("samples of bottom " + std::to_string(i) + " have shape " + to_string(row_of(*bottom[i])) +
                  ", those in the file have " + to_string(rows_[i]));
  }

  void forward(const Blobs& bottom, const Blobs&) override {
    const i64 rows = bottom[0]->dim(0);
    if (!sink_) {
      const i64 before = run().phase == Phase::train ? run().pass * rows : 0;
      sink_ = services().sinks->open(file_name(), {{"data", rows_[0]}, {"label", rows_[1]}}, before);
    }
    if (group().spec().timing_only) return;
    const std::vector<float> data = bottom[0]->data_vector(), label = bottom[1]->data_vector();
    sink_->append(rows, {data.data(), label.data()});
  }

  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  std::string file_name() const {
    const std::filesystem::path name = parameter().hdf5_output_param().file_name();
    if (run().writers == 1) return name.string();
    const std::string rank = ".rank" + std::to_string(run().writer);
    return (name.parent_path() / (name.stem().string() + rank + name.extension().string())).string();
  }

  std::shared_ptr<const void> held_;  // the file, from setup on: two nets of a solver may name one
  std::unique_ptr<ArraySink> sink_;   // opened by the first forward, so that building a net makes no file
  std::vector<Shape> rows_;           // of a sample of each bottom
};

}  // namespace

void add_hdf5_output(LayerTable& table) { table.add<Hdf5OutputLayer>("HDF5Output"); }

}  // namespace cortado
