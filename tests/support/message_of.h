#pragma once
#include <functional>
#include <string>

#include "core/base/error.h"

namespace cortado::test {

/// The message of the Error that `work` throws; empty if it throws none.
inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) { return error.what(); }
  return "";
}

}  // namespace cortado::test
