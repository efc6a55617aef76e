#include "core/solver/agreement.h"

#include <exception>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/solver/state_file.h"

namespace cortado {

void on_root(const Replicas& replicas, const std::function<void()>& work) {
  std::string failure;
  std::exception_ptr cause;
  if (replicas.rank() == 0) {
    try {
      work();
    } catch (const Error& error) {
      failure = error.what();
      cause = std::current_exception();
    }
  }
  failure = replicas.from_root(failure);
  if (cause) std::rethrow_exception(cause);
  if (!failure.empty()) throw PeerError("rank 0", failure);
}

void share_from_root(const Replicas& replicas, CoreGroup& group, const Storage& values) {
  if (replicas.size() == 1 || values.count == 0) return;
  std::vector<float> host(static_cast<std::size_t>(values.count));
  const std::size_t bytes = host.size() * sizeof(float);
  group.copy(host.data(), values.data, bytes);
  group.wait();
  replicas.from_root(host.data(), values.count);
  group.copy(values.data, host.data(), bytes);
  group.wait();
}

void share_plans(const Replicas& replicas, Net& net) {
  if (replicas.size() == 1) return;
  caffe::CortadoState state;
  store_plans(net.plans(), state);
  require(state.ParseFromString(replicas.from_root(state.SerializeAsString())), "rank 0 sent its plans");
  use_plans(net, plans_of(state));
}

void use_plans(Net& net, const PlanBook& plans) {
  std::map<std::string, PlanBook> by_layer;
  for (const auto& [key, candidate] : plans) {
    const std::size_t slash = key.rfind('/');  // a layer's name may hold slashes, a direction does not
    if (slash != std::string::npos) by_layer[key.substr(0, slash)][key.substr(slash + 1)] = candidate;
  }
  for (const Net::Entry& entry : net.layers()) {
    const auto found = by_layer.find(entry.layer->name());
    if (found != by_layer.end()) entry.layer->choose_plans(found->second);
  }
  net.reshape();
}

}  // namespace cortado
