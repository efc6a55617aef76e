#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/net/net.h"

namespace cortado {

// The ranks of a training run come to the same state by these functions. Every one is collective.

/// Runs `work` on rank 0 alone. If it throws a cortado::Error, rank 0 throws that error, and the others throw PeerError
/// with the same text. So no rank waits for a rank that has ended.
void on_root(const Replicas& replicas, const std::function<void()>& work);

/// Copies rank 0's values to every rank.
void share_from_root(const Replicas& replicas, CoreGroup& group, const Storage& values);

/// Returns `count` values of which this rank has `own`, from `first` on, and other ranks the others. Every rank gets
/// every bit.
std::vector<float> put_together(const Replicas& replicas, const std::vector<float>& own, i64 first, i64 count);

/// Makes every rank use the candidates that rank 0's net chose.
void share_plans(const Replicas& replicas, Net& net);

}  // namespace cortado
