#pragma once
#include "core/base/types.h"

namespace cortado::reference {

struct Launch {
  i64 worker = 0, workers = 1;
  char* scratch = nullptr;
  bool failed = false;
  int code = 0;
  i64 index = 0;

  void fail(int c, i64 i) {
    if (failed) return;
    failed = true;
    code = c;
    index = i;
  }
};

}  // namespace cortado::reference
