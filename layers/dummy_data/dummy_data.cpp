#include "core/base/random.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {
namespace {

/// Caffe's DummyData: tops of given shapes from fillers. Shapes are `shape`, or the older num, channels, height, width;
/// one for all tops or one for each. Fillers are one for all or one for each; none means zeros. Constants are filled
/// once. Random tops are drawn anew each pass, differently on each rank.
class DummyDataLayer : public Layer {
 public:
  using Layer::Layer;
  static void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
    auto& p = *parameter.mutable_dummy_data_param();
    for (auto& shape : *p.mutable_shape())
      if (shape.dim_size() > 0) shape.set_dim(0, share(shape.dim(0)));
    if (p.shape_size() == 0)
      for (auto& samples : *p.mutable_num()) samples = static_cast<unsigned>(share(samples));
  }

  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, -1}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void setup(const Blobs&, const Blobs& top) override {
    const auto fillers = static_cast<std::size_t>(parameter().dummy_data_param().data_filler_size());
    if (fillers > 1 && fillers != top.size())
      bad_config(std::to_string(fillers) + " data_fillers for " + std::to_string(top.size()) + " tops",
                 "give none, one, or one for each");
    for (std::size_t i = 0; i < top.size(); ++i) top[i]->reshape(shape_of_top(i, top.size()));
  }

  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs&, const Blobs& top) override {
    for (std::size_t i = 0; i < top.size(); ++i) {
      const auto& filler = filler_of(i);
      const bool constant = filler.type() == "constant";
      if (constant && top[i]->has_data()) continue;
      const auto draw = static_cast<std::uint64_t>(run().pass * run().ranks + run().rank);
      fill(*top[i], filler, random_bits(random_key(i), constant ? 0 : draw));
    }
  }

  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}

 private:
  Shape shape_of_top(std::size_t i, std::size_t tops) const {
    const auto& p = parameter().dummy_data_param();
    const auto pick = [&](const auto& values, const char* name) {
      const auto given = static_cast<std::size_t>(values.size());
      if (given != 1 && given != tops)
        bad_config(std::to_string(given) + " values of " + name + " for " + std::to_string(tops) + " tops",
                   "give one for all or one for each");
      return values.Get(given == 1 ? 0 : static_cast<int>(i));
    };
    if (p.shape_size() > 0) return shape_of(pick(p.shape(), "shape"));
    return {pick(p.num(), "num"), pick(p.channels(), "channels"), pick(p.height(), "height"), pick(p.width(), "width")};
  }

  const caffe::FillerParameter& filler_of(std::size_t i) const {
    const auto& fillers = parameter().dummy_data_param().data_filler();
    if (fillers.empty()) return caffe::FillerParameter::default_instance();  // constant 0
    return fillers.Get(fillers.size() == 1 ? 0 : static_cast<int>(i));
  }
};

}  // namespace

void add_dummy_data(LayerTable& table) { table.add<DummyDataLayer>("DummyData"); }

}  // namespace cortado
