#pragma once
#include <functional>
#include <memory>
#include <string>

#include "core/net/net.h"

namespace cortado {

// How the ranks of a training run come to the same state. Every function is collective.

/// Runs `work` on rank 0 alone. When it throws a cortado::Error, rank 0 throws that and the others PeerError with the
/// same text, so that nobody waits for a rank that has gone.
void on_root(const Replicas& replicas, const std::function<void()>& work);

/// Rank 0's values, on every rank.
void share_from_root(const Replicas& replicas, CoreGroup& group, const Storage& values);

/// Makes every rank use the candidates that rank 0's net chose.
void share_plans(const Replicas& replicas, Net& net);

}  // namespace cortado
