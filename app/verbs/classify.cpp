#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>

#include "app/command_line/resize_flags.h"
#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/memory_need.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/finite.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {

/// The preparation of images as input.
struct InputPreparation {
  std::string mean_file;
  std::vector<float> mean_values;
  double scale = 0;  ///< 0: as the net's transform_param has it, like an empty mean
  ImageSize size;    ///< without one, images are resized to the net's input; with one, it is cut out of their middle
};

std::vector<std::string> read_labels(const std::string& file, i64 classes) {
  std::vector<std::string> labels;
  std::istringstream in(file.empty() ? "" : read_file(file));
  for (std::string line; std::getline(in, line);) {
    line.erase(line.find_last_not_of('\r') + 1);
    labels.push_back(line);
  }
  if (!file.empty() && static_cast<i64>(labels.size()) != classes)
    throw ConfigError(file,
                      "names " + std::to_string(labels.size()) + " classes, the net has " + std::to_string(classes));
  for (i64 k = static_cast<i64>(labels.size()); k < classes; ++k) labels.push_back("class " + std::to_string(k));
  return labels;
}

/// The transformation that the net was trained with: its own, or that of the training net in the same folder; `from`
/// becomes the file that has it. Null: neither has one.
std::unique_ptr<caffe::TransformationParameter> transform_of(const std::string& model, std::string& from) {
  namespace fs = std::filesystem;
  std::unique_ptr<caffe::TransformationParameter> found;
  for (const char* name : {"", "train_val.prototxt", "train_test.prototxt", "train.prototxt"}) {
    from = *name == '\0' ? model : (fs::path(model).parent_path() / name).string();
    if (!exists(from)) continue;
    caffe::NetParameter net;
    read_net(from, net);
    for (const auto& layer : net.layer())
      if (layer.has_transform_param() && (found == nullptr || layer.include_size() > 0))
        found = std::make_unique<caffe::TransformationParameter>(layer.transform_param());
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// Mean and scale that the command line leaves open are the net's.
void complete(InputPreparation& c, const std::string& model) {
  const bool has_mean = !c.mean_file.empty() || !c.mean_values.empty();
  if (has_mean && c.scale != 0) return;
  std::string from;
  const auto transform = transform_of(model, from);
  if (transform == nullptr) {
    if (!has_mean && c.scale == 0)
      CORTADO_LOG(warning) << "No transform_param tells mean and scale: pixels go in as they are, 0 to 255";
    if (c.scale == 0) c.scale = 1;
    return;
  }
  if (!has_mean) {
    c.mean_file = transform->mean_file();
    c.mean_values.assign(transform->mean_value().begin(), transform->mean_value().end());
  }
  const bool has_scale = c.scale != 0;
  if (!has_scale) c.scale = double{transform->scale()};
  std::ostringstream mean;
  mean << c.mean_file;
  for (std::size_t i = 0; i < c.mean_values.size(); ++i) mean << (i > 0 ? ", " : "") << c.mean_values[i];
  const auto source = [&](bool is_given) { return is_given ? "as given" : "as " + from + " has it"; };
  CORTADO_LOG(info) << "Mean " << (mean.str().empty() ? "0" : mean.str()) << ", " << source(has_mean) << "; scale "
                    << c.scale << ", " << source(has_scale);
}

/// Mean per channel, from the file's image (its channels' means, as Caffe's example does) or from the values given.
std::vector<float> mean_of(const InputPreparation& c, i64 channels) {
  std::vector<float> mean = c.mean_values;
  if (!c.mean_file.empty()) {
    if (!mean.empty()) throw ConfigError("command line", "give --mean_file or --mean_value", "not both");
    caffe::BlobProto proto;
    read_binary(c.mean_file, proto);
    const auto values = values_of(proto, c.mean_file);
    const Shape shape = shape_of(proto);
    const i64 planes = shape.size() < 3 ? 0 : shape[shape.size() - 3];
    if (planes != channels || channels < 1)
      throw FileError(c.mean_file,
                      "has " + std::to_string(planes) + " channels, the net takes " + std::to_string(channels));
    const auto plane = static_cast<std::ptrdiff_t>(values.size()) / channels;
    for (i64 k = 0; k < channels; ++k)
      mean.push_back(std::accumulate(values.begin() + k * plane, values.begin() + (k + 1) * plane, 0.0F) /
                     static_cast<float>(plane));
  }
  if (mean.size() == 1) mean.resize(static_cast<std::size_t>(channels), mean[0]);
  if (mean.empty()) mean.assign(static_cast<std::size_t>(channels), 0);
  if (static_cast<i64>(mean.size()) != channels)
    throw ConfigError("command line",
                      std::to_string(mean.size()) + " mean values for " + std::to_string(channels) + " channels");
  return mean;
}

/// Blue, green, red as Caffe's nets expect.
std::vector<float> prepare(const std::string& file, const Blob& input, const std::vector<float>& mean,
                           const InputPreparation& c) {
  const auto channels = static_cast<std::size_t>(input.dim(1));
  ImageSize size = c.size;
  const bool crops = size.resizes();
  (crops ? size.crop_height : size.height) = static_cast<int>(input.dim(2));
  (crops ? size.crop_width : size.width) = static_cast<int>(input.dim(3));
  const Image image = read_image(file, channels == 1 ? 1 : 3, size);
  const std::size_t plane = image.values.size() / channels;
  std::vector<float> values(image.values.size());
  for (std::size_t k = 0; k < channels; ++k)
    for (std::size_t i = 0; i < plane; ++i)
      values[k * plane + i] =
          (static_cast<float>(image.values[(channels - 1 - k) * plane + i]) - mean[k]) * static_cast<float>(c.scale);
  return values;
}

void print_best(const std::string& file, const std::vector<float>& scores, const std::vector<std::string>& labels,
                int top) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::cout << "---------- Prediction for " << printable(file) << " ----------\n";
  for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(top)); ++i)
    std::cout << fmt::format("{:.4f} - \"{}\"\n", scores[order[i]], printable(labels[order[i]]));
  std::cout.flush();
}

class Classify : public Verb {
 public:
  void add_to(Flags& flags) override;
  int run(const MpiJob& job) override;

 private:
  void classify(const Session& session, Net& net) const;

  NetFlags net_{Phase::test};
  SessionFlags session_;
  std::string weights_, labels_, resize_;
  InputPreparation preparation_;
  int top_ = 5;
  std::vector<std::string> images_;
};

void Classify::add_to(Flags& flags) {
  net_.add_model(flags, "Net prototxt with one input (deploy.prototxt)").required();
  add_weights(flags, weights_, "The .caffemodel or .caffemodel.h5").required();
  add_file(flags, "--mean_file", preparation_.mean_file,
           "Mean to subtract, .binaryproto; default: as the net's transform_param has it, or that of the training net "
           "in its folder");
  flags.add("--mean_value", preparation_.mean_values, "Mean per channel to subtract, separated by commas");
  flags.add("--scale", preparation_.scale, "Factor on values after the mean is gone; default: likewise")
      .within(1e-30, 1e30);
  add_file(flags, "--labels", labels_, "File with one class name per line");
  flags.add("--top", top_, "Classes to show").shows_default().positive();
  session_.add_devices(flags);
  session_.add_without(flags);
  flags.add_switch("--antialias", preparation_.size.antialias,
                   "Resize images as a net that was trained with antialias: true wants it");
  flags.add("--resize", resize_,
            "Resize to WIDTHxHEIGHT, or the shorter side to N pixels by short:N, and cut the net's input out of the "
            "middle; default: resize to the input's size");
  flags.add("images", images_, "JPEG or PNG files").required().compared_by([this](StartFields& fields) {
    for (const auto& image : images_) fields.push_back({"image " + image, "image " + image, content_of(image)});
  });
  add_strict(flags);
}

/// The only input, shaped for one image.
Blob& input_of(Net& net, const std::string& model) {
  if (net.inputs().size() != 1 || net.outputs().size() != 1)
    throw ConfigError(model,
                      "classify needs a net with one input and one output, this has " +
                          std::to_string(net.inputs().size()) + " and " + std::to_string(net.outputs().size()),
                      "give the deploy.prototxt");
  Blob& input = *net.inputs()[0];
  if (input.axes() != 4 || (input.dim(1) != 1 && input.dim(1) != 3))
    throw ConfigError(model, "the input must be N x 1 or 3 x H x W, it has shape " + to_string(input.shape()));
  input.reshape({1, input.dim(1), input.dim(2), input.dim(3)});
  net.reshape();
  return input;
}

int Classify::run(const MpiJob& job) {
  Session session(job, session_);
  with_net(session, net_, [&](Net& net) { classify(session, net); });
  return 0;
}

void Classify::classify(const Session& session, Net& net) const {
  session.take_weights(net, weights_);
  Blob& input = input_of(net, net_.model());
  net.run().parameter_version = 1;
  InputPreparation how = preparation_;
  set_resize(resize_, how.size);
  complete(how, net_.model());
  const auto mean = mean_of(how, input.dim(1));
  const auto labels = read_labels(labels_, net.outputs()[0].blob->count());
  for (const auto& file : images_) {
    input.write_data(prepare(file, input, mean, how).data());
    net.forward();
    require_finite_outputs(net);
    const auto scores = net.outputs()[0].blob->data_vector();
    if (session.job.rank() == 0) print_best(file, scores, labels, top_);
  }
}

}  // namespace

std::unique_ptr<Verb> make_classify() { return std::make_unique<Classify>(); }

}  // namespace cortado
