#pragma once
#include <string>

#include "core/net/layer.h"

namespace cortado {

/// The work that the calling thread does for a net. Who records launches asks for it.
struct CurrentWork {
  const char* direction = "";         ///< "forward", "backward", "update"; empty: none of a net
  const std::string* name = nullptr;  ///< the layer's; nullptr: none
  const Layer* layer = nullptr;       ///< nullptr during an update
  const Layer::Blobs* bottom = nullptr;
  const Layer::Blobs* top = nullptr;
};

/// The calling thread's. A thread that works for no net has an empty one.
const CurrentWork& current_work();

/// Makes it the calling thread's work while it lives. It borrows what `work` points to.
class WorkScope {
 public:
  explicit WorkScope(const CurrentWork& work);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

 private:
  const CurrentWork before_;
};

}  // namespace cortado
