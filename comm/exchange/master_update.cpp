#include "comm/exchange/master_update.h"

#include <cmath>
#include <sstream>

#include "comm/codec/beyond.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/machine/integers.h"

namespace cortado {
namespace {
std::size_t bytes_of_floats(i64 count) { return static_cast<std::size_t>(count) * sizeof(float); }
}  // namespace

MasterUpdate::MasterUpdate(JobTeam& job, CoreGroup& group, const Codec& codec)
    : job_(job), group_(group), codec_(codec) {
  if (codec.needs_state())
    throw ConfigError("codec '" + codec.name() + "'",
                      "cannot code weights: it sends later what it leaves out, but weights are needed as they are",
                      "choose fp32, bf16, fp16, three_in_one or an 8-bit type");
}

float MasterUpdate::finish(Net& net) {
  const int ranks = job_.topology().ranks();
  if (ranks == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  float* values = gradients.data;
  if (!group_.spec().host_memory) {
    staging_.resize(static_cast<std::size_t>(gradients.count));
    values = staging_.data();
    group_.copy(values, gradients.data, bytes_of_floats(gradients.count));
  }
  group_.wait();
  const auto choice = job_.reduce("auto", static_cast<i64>(bytes_of_floats(gradients.count)));
  job_.run(choice, {values, gradients.count, Precision::fp32});
  if (is_master() && values != gradients.data) {
    group_.copy(gradients.data, values, bytes_of_floats(gradients.count));
    group_.wait();
  }
  return 1.0f / static_cast<float>(ranks);
}

void MasterUpdate::share_weights(Net& net) {
  message_bytes_ = 0;
  if (codec_.name() == "fp32")
    share_floats(net);
  else
    share_codes(net);
}

void MasterUpdate::restore_weights(Net& net) {
  if (!is_master() || codec_.name() == "fp32") return;
  require(arena_ == net.parameter_arena(), "an exchange serves one net at a time");
  copy_weights(net, full_.as<float>(), arena_->data);
}

void MasterUpdate::broadcast(const HostValues& values) {
  message_bytes_ += values.bytes();
  if (job_.topology().ranks() > 1) job_.run(job_.broadcast("auto", values.bytes()), values);
}

void MasterUpdate::share_floats(const Net& net) {
  const Storage& arena = *net.parameter_arena();
  for (const Net::Range& range : net.weight_ranges()) {
    float *const weights = arena.data + range.first, *values = weights;
    if (!group_.spec().host_memory) {
      staging_.resize(static_cast<std::size_t>(arena.count));
      values = staging_.data();
      if (is_master()) group_.copy(values, weights, bytes_of_floats(range.count));
    }
    group_.wait();
    broadcast({values, range.count, Precision::fp32});
    if (!is_master() && values != weights) group_.copy(weights, values, bytes_of_floats(range.count));
  }
  group_.wait();
}

void MasterUpdate::share_codes(const Net& net) {
  list_parts(net);
  if (is_master()) {
    copy_weights(net, arena_->data, full_.as<float>());
    choose_coded_parts();
  }
  std::vector<float> is_coded;
  for (const Part& part : parts_) is_coded.push_back(part.is_coded ? 1 : 0);
  broadcast({is_coded.data(), static_cast<i64>(is_coded.size()), Precision::fp32});
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].is_coded = is_coded[i] != 0;
  place_parts();
  if (is_master()) encode();
  message_.to_message(group_, 0, message_.bytes());
  broadcast(message_.message(0, message_.bytes()));
  message_.from_message(group_, 0, message_.bytes());
  decode(arena_->data);
  group_.wait();
}

/// Blobs of weights, unless the net is still the same.
void MasterUpdate::list_parts(const Net& net) {
  if (arena_ == net.parameter_arena()) return;
  arena_ = net.parameter_arena();
  parts_.clear();
  for (const Net::Learnable& learnable : net.learnable()) {
    const i64 count = learnable.blob->count();
    if (learnable.statistic || count == 0) continue;
    parts_.push_back({"layer '" + learnable.layer + "', blob " + std::to_string(learnable.index),
                      learnable.arena_offset, count, codec_.encoded_bytes(count) < 4 * count, false, false, 0});
  }
  if (is_master()) full_ = ClusterMemory(group_, bytes_of_floats(arena_->count));
}

void MasterUpdate::choose_coded_parts() {
  std::vector<ClusterValues> weights;
  for (const Part& part : parts_)
    weights.push_back({full_.as<float>() + part.first, part.is_worth_coding ? part.count : 0});
  const std::vector<bool> beyond = any_beyond(group_, weights, codec_.limit());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.is_coded = part.is_worth_coding && !beyond[i];
    if (!beyond[i] || part.was_told) continue;
    part.was_told = true;
    std::ostringstream why;
    if (std::isfinite(codec_.limit())) why << ", or not below " << codec_.limit() << " in size";
    CORTADO_LOG(info) << "Weights of " << part.blob << ", travel as floats while one of them is NaN or infinite"
                      << why.str() << ": " << codec_.name() << " cannot code those";
  }
}

void MasterUpdate::place_parts() {
  constexpr i64 alignment = 128;
  i64 bytes = 0;
  for (Part& part : parts_) {
    part.place = bytes;
    bytes += round_up(part.is_coded ? codec_.encoded_bytes(part.count) : 4 * part.count, alignment);
  }
  if (message_.bytes() != bytes) message_ = CodeMemory(group_, bytes);
}

void MasterUpdate::encode() const {
  for (const Part& part : parts_) {
    const float* const weights = full_.as<float>() + part.first;
    void* const code = message_.cluster(part.place);
    if (part.is_coded)
      codec_.encode(group_, weights, part.count, nullptr, code);
    else
      group_.copy(code, weights, bytes_of_floats(part.count));
  }
}

void MasterUpdate::decode(float* weights) const {
  for (const Part& part : parts_) {
    const void* const code = message_.cluster(part.place);
    if (part.is_coded)
      codec_.decode(group_, code, part.count, weights + part.first);
    else
      group_.copy(weights + part.first, code, bytes_of_floats(part.count));
  }
}

/// Between memories that are laid out as the arena.
void MasterUpdate::copy_weights(const Net& net, const float* from, float* to) {
  for (const Net::Range& range : net.weight_ranges())
    group_.copy(to + range.first, from + range.first, bytes_of_floats(range.count));
}

}  // namespace cortado
