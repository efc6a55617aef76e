#pragma once
#include <string>

namespace cortado {

/// The exchange of jobs and predictions that ask for none, and the reason.
struct DefaultExchange {
  std::string name, why;
};

/// `obstacle` is the reason why ranks cannot exchange while they compute; empty means that they can.
inline DefaultExchange default_exchange(int ranks, const std::string& obstacle) {
  if (ranks == 1) return {"packed", "there is one rank"};
  if (!obstacle.empty()) return {"packed", obstacle};
  return {"buckets", "ranks can exchange while they compute"};
}

}  // namespace cortado
