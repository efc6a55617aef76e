#include "layers/data/batch_layer.h"

#include <google/protobuf/descriptor.h>

#include <cstdio>

#include "core/base/random.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
constexpr i64 most_prefetch = 1 << 16;
constexpr std::uint64_t order_purpose = 0x6F72646572, skip_purpose = 0x736B6970;
}  // namespace

void BatchLayer::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
  const auto& of_layer = *parameter.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> given;
  of_layer.ListFields(parameter, &given);
  for (const auto* const field : given) {
    if (field->is_repeated() || field->message_type() == nullptr) continue;
    const auto* const size = field->message_type()->FindFieldByName("batch_size");
    if (size == nullptr) continue;
    auto& message = *of_layer.MutableMessage(&parameter, field);
    const auto& of_message = *message.GetReflection();
    of_message.SetUInt32(&message, size, static_cast<unsigned>(share(of_message.GetUInt32(message, size))));
  }
}

i64 BatchLayer::skipped(i64 most) const {
  return most > 0 ? static_cast<i64>(random_bits(run().seed, skip_purpose) % static_cast<std::uint64_t>(most)) : 0;
}

void BatchLayer::setup(const Blobs&, const Blobs&) {
  BatchRequest wanted = request();
  if (wanted.source.empty()) bad_config("names no source");
  if (wanted.batch < 1) bad_config("batch_size must be at least 1");
  if (wanted.prefetch < 1) bad_config("prefetch must be at least 1");
  if (wanted.prefetch > most_prefetch)
    bad_config("prefetch is " + std::to_string(wanted.prefetch) + ", more than " + std::to_string(most_prefetch),
               "each is a batch in memory; more than a few only help where reading stalls for long");
  if (wanted.block < 0) bad_config("shuffle_block must be at least 1");
  if (services().sources == nullptr) bad_config("no data can be read here");
  wanted.tops = {parameter().top().begin(), parameter().top().end()};
  batch_ = wanted.batch;
  // The same on every rank, and for all layers of a net: images and labels from two sources stay together.
  wanted.seed = random_bits(run().seed, order_purpose);
  wanted.training = run().phase == Phase::train;
  const Replicas& replicas = *run().replicas;
  // Test nets run on one core group at a time.
  const bool by_master = run().feed == Feed::master && wanted.training && replicas.groups_of_process() > 1;
  if (by_master) wanted.batch *= replicas.groups_of_process();
  source_ = services().sources->open(wanted, group());
  if (by_master)
    feeder_ = std::make_unique<MasterScatter>(group(), *source_, replicas);
  else if (group().spec().host_memory)
    feeder_ = std::make_unique<ZeroCopyFeeder>(group(), *source_);
  else
    feeder_ = std::make_unique<Preload>(group(), *source_);
}

void BatchLayer::reshape(const Blobs&, const Blobs& top) {
  for (std::size_t i = 0; i < top.size(); ++i) {
    Shape shape = source_->sample_shapes()[i];
    shape.insert(shape.begin(), batch_);
    top[i]->reshape(shape);
  }
}

void BatchLayer::forward(const Blobs&, const Blobs& top) {
  feeder_->feed(run().first_sample(batch_), batch_ * run().ranks, top);
}

std::string BatchLayer::statistics() const {
  const auto s = source_->statistics();
  if (s.batches < 2) return "";
  char text[200];
  const double mb_per_second = s.reading > 0 ? static_cast<double>(s.bytes) / 1e6 / s.reading : 0;
  std::snprintf(text, sizeof text,
                "%lld batches, waited %.3f s for them; %.1f of %d ready when one was wanted; read at %.0f MB/s, "
                "%.3f s reading, %.3f s decoding and transforming",
                static_cast<long long>(s.batches), s.stalled, s.ready, s.depth, mb_per_second, s.reading, s.preparing);
  return text;
}

}  // namespace cortado
