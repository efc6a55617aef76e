#pragma once
#include <functional>
#include <memory>
#include <string>

#include "core/net/net.h"

namespace cortado {

// The ranks of a training run come to the same state by these functions. Every one is collective.

/// Runs `work` on rank 0 alone. If it throws a cortado::Error, rank 0 throws that error, and the others throw PeerError
/// with the same text. So no rank waits for a rank that has ended.
void on_root(const Replicas& replicas, const std::function<void()>& work);

/// Copies rank 0's values to every rank.
void share_from_root(const Replicas& replicas, CoreGroup& group, const Storage& values);

/// Makes every rank use the candidates that rank 0's net chose.
void share_plans(const Replicas& replicas, Net& net);

}  // namespace cortado
