#include <algorithm>
#include <cstring>

#include "app/report/progress_bar.h"
#include "app/session/session.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "layers/data/batch_layer.h"
#include "parallel_io/convert/set_writer.h"

namespace cortado {
namespace {

/// Blobs of a net, batch after batch, as a data set: sample i is row i % batch of pass i / batch. One thread reads.
class Features : public DataSet {
 public:
  /// `as_images`: samples get three dimensions, and a label, as a Datum has them; the net's own blob `label`, if it
  /// has one.
  Features(Net& net, const std::vector<std::string>& names, i64 passes, bool as_images) : net_(net) {
    for (const auto& name : names) add(name);
    samples_ = samples_in(passes);
    if (!as_images) return;
    Shape& shape = fields_[0].sample_shape;
    shape.resize(std::max<std::size_t>(3, shape.size()), 1);
    fields_.push_back({"label", {}, Stored::float32});
    const Blob* const label = net.blob("label");
    blobs_.push_back(label != nullptr && label->count() == batch_ ? label : nullptr);
  }

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.resize(fields_.size());
    for (std::size_t f = 0; f < fields_.size(); ++f)
      to[f].bytes.resize(static_cast<std::size_t>(count * fields_[f].sample_bytes()));
    for (i64 i = 0; i < count; ++i) {
      run(indices[i] / batch_);
      for (std::size_t f = 0; f < fields_.size(); ++f) {
        const i64 values = count_of(fields_[f].sample_shape);
        std::memcpy(to[f].bytes.data() + i * values * 4, rows_[f].data() + indices[i] % batch_ * values,
                    static_cast<std::size_t>(values) * 4);
      }
    }
  }
  std::string where(i64 sample) const override {
    return "sample " + std::to_string(sample % batch_) + " of batch " + std::to_string(sample / batch_);
  }

 private:
  /// Beyond its last sample, a source begins again: each is to be written once.
  i64 samples_in(i64 passes) const {
    i64 samples = passes * batch_;
    for (const auto& entry : net_.layers())
      if (const auto* const layer = dynamic_cast<const BatchLayer*>(entry.layer.get()))
        samples = std::min(samples, layer->samples());
    if (samples < passes * batch_)
      CORTADO_LOG(warning) << passes << " batches of " << batch_ << " go beyond the last sample: " << samples
                           << " are written, each once";
    return samples;
  }

  void add(const std::string& name) {
    const Blob* const blob = net_.blob(name);
    if (blob == nullptr)
      throw ConfigError("net '" + net_.name() + "'", "has no blob '" + name + "'", "cortado draw shows its blobs");
    if (blob->axes() == 0 || blob->count() == 0 || (batch_ > 0 && blob->dim(0) != batch_))
      throw ConfigError("blob '" + name + "'", "has shape " + to_string(blob->shape()) +
                                                   ", which is no row per sample" +
                                                   (batch_ > 0 ? " of a batch of " + std::to_string(batch_) : ""));
    batch_ = blob->dim(0);
    std::string field = name;  // a slash would be a group's
    std::replace(field.begin(), field.end(), '/', '_');
    fields_.push_back({field, Shape(blob->shape().begin() + 1, blob->shape().end()), Stored::float32});
    blobs_.push_back(blob);
  }

  /// Values of all fields of this pass.
  void run(i64 pass) const {
    if (pass == pass_) return;
    net_.run().pass = pass_ = pass;
    net_.forward();
    rows_.clear();
    for (std::size_t f = 0; f < blobs_.size(); ++f) {
      const Blob* const blob = blobs_[f];
      if (blob != nullptr && blob->count() != batch_ * count_of(fields_[f].sample_shape))
        throw ShapeError("blob '" + fields_[f].name + "'",
                         "has shape " + to_string(blob->shape()) + " in batch " + std::to_string(pass) +
                             ", samples had " + to_string(fields_[f].sample_shape) +
                             " before; those of a file have one shape",
                         "extract what lies behind global pooling, or resize images");
      rows_.push_back(blob != nullptr ? blob->data_vector() : std::vector<float>(static_cast<std::size_t>(batch_)));
    }
  }

  Net& net_;
  i64 batch_ = 0;
  std::vector<const Blob*> blobs_;  // by field; null: zeros
  mutable i64 pass_ = -1;
  mutable std::vector<std::vector<float>> rows_;
};

}  // namespace

int extract(Session& session, const Options& options) {
  caffe::NetParameter parameter, weights;
  read_net_for(options, options.model, Phase::test, parameter);
  read_weights(options.weights, &session.hdf5, weights);
  Net net(parameter, session.net_options());
  if (!net.inputs().empty())
    throw ConfigError(options.model, "has Input layers, which read nothing", "give a net with a data layer");
  net.copy_trained(weights);
  net.run().parameter_version = 1;

  const auto& e = options.extract;
  const auto& ranks = session.job.replicas();
  ProgressBar bar("extracting");
  Progress progress;
  if (ranks.rank() == 0) progress = [&](i64 done, i64 total) { bar.show(done, total); };
  const auto write = [&](const std::vector<std::string>& names, const std::string& to) {
    const bool lmdb = e.format == "lmdb";
    const Features features(net, names, options.iterations, lmdb);
    WriteOptions with;
    with.format = lmdb ? Format::lmdb : Format::hdf5;
    with.only_fields = true;
    with.from = options.model + " with " + options.weights;
    const auto writer = make_writer(features, to, with, ranks);
    write_set(features, *writer, ranks, progress);
    CORTADO_LOG(info) << "Wrote " << features.samples() << " samples to " << to;
  };
  if (e.format == "hdf5" || e.blobs.size() == 1) {
    write(e.blobs, e.out);
    return 0;
  }
  for (const auto& blob : e.blobs) {
    std::string name = blob;
    std::replace(name.begin(), name.end(), '/', '_');
    write({blob}, e.out + "_" + name);
  }
  return 0;
}

}  // namespace cortado
