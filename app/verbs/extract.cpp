#include <algorithm>
#include <cstring>
#include <set>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/memory_need.h"
#include "app/report/progress_bar.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/finite.h"
#include "layers/data/batch_layer.h"
#include "parallel_io/convert/set_writer.h"

namespace cortado {
namespace {

/// The name under which a blob is stored: a slash would be a group's.
std::string name_of_field(std::string blob) {
  std::replace(blob.begin(), blob.end(), '/', '_');
  return blob;
}

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
    fields_.push_back({name_of_field(name), Shape(blob->shape().begin() + 1, blob->shape().end()), Stored::float32});
    blobs_.push_back(blob);
  }

  /// Values of all fields of this pass.
  void run(i64 pass) const {
    if (pass == pass_) return;
    net_.run().pass = pass_ = pass;
    net_.forward();
    require_finite_outputs(net_);
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

class Extract : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  void extract(const Session& session, Net& net) const;
  void write(Net& net, const std::vector<std::string>& names, const std::string& to, const MpiJob& job) const;

  NetFlags net_{Phase::test};
  SessionFlags session_;
  std::string weights_, out_, format_ = "hdf5";
  std::vector<std::string> blobs_;
  i64 iterations_ = 50;
};

void Extract::add_to(Flags& flags) {
  net_.add_model(flags, "Net prototxt, with the layer that reads").required();
  add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5").required();
  add_strict(flags);
  flags.add("--blobs", blobs_, "Names of blobs, separated by commas").required();
  flags.add("--out", out_, "HDF5 file to write, or LMDB folder: BLOB is put behind for several").required();
  flags.add("--as", format_, "hdf5: a data set per blob; lmdb: a folder of float Datums per blob")
      .shows_default()
      .one_of({"hdf5", "lmdb"});
  flags.add("--iterations", iterations_, "Batches").shows_default().positive();
  session_.add_precision(flags);
  session_.add_without(flags);
  session_.add_devices(flags);
  net_.add_state(flags);
}

int Extract::run(const MpiJob& job) {
  Session session(job, session_);
  with_net(session, net_, [&](Net& net) { extract(session, net); });
  return 0;
}

void Extract::extract(const Session& session, Net& net) const {
  if (!net.inputs().empty())
    throw ConfigError(net_.model(), "has Input layers, which read nothing", "give a net with a data layer");
  std::set<std::string> names;
  for (const auto& blob : blobs_)
    if (!names.insert(name_of_field(blob)).second)
      throw ConfigError("--blobs", "two of them would be stored as '" + name_of_field(blob) + "'", "leave one out");
  session.take_weights(net, weights_);
  net.run().parameter_version = 1;
  if (format_ == "hdf5" || blobs_.size() == 1) {
    write(net, blobs_, out_, session.job);
    return;
  }
  for (const auto& blob : blobs_) write(net, {blob}, out_ + "_" + name_of_field(blob), session.job);
}

void Extract::write(Net& net, const std::vector<std::string>& names, const std::string& to, const MpiJob& job) const {
  ProgressBar bar("extracting");
  Progress progress;
  if (job.rank() == 0) progress = [&](i64 done, i64 total) { bar.show(done, total); };
  const bool lmdb = format_ == "lmdb";
  const Features features(net, names, iterations_, lmdb);
  WriteOptions with;
  with.format = lmdb ? Format::lmdb : Format::hdf5;
  with.only_fields = true;
  with.from = net_.model() + ", " + content_of(net_.model()) + ", with " + weights_ + ", " + contents_of(weights_);
  with.keeps_unfinished = false;
  const auto writer = make_writer(features, to, with, job.replicas());
  write_set(features, *writer, job.replicas(), progress);
  CORTADO_LOG(info) << "Wrote " << features.samples() << " samples to " << to;
}

}  // namespace

std::unique_ptr<Verb> make_extract() { return std::make_unique<Extract>(); }

}  // namespace cortado
