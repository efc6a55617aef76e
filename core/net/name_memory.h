#pragma once
#include <new>
#include <stdexcept>
#include <string>

#include "core/base/error.h"
#include "core/base/memory_error.h"
#include "core/machine/free_memory.h"

namespace cortado {

/// Runs `work`. If memory runs out, throws a MemoryError that names the place `where` and what `missing` returns.
template <class Work, class Missing>
void naming_memory(const std::string& where, const Work& work, const Missing& missing) {
  try {
    work();
  } catch (const MemoryError& error) {
    const std::string what = error.what();
    if (where.empty() || what.find(where) != std::string::npos) throw;
    throw MemoryError(where + missing(), what);
  } catch (const std::bad_alloc&) {
    throw MemoryError(where + missing(), "there is no memory left on the host: " +
                                             megabytes_text(static_cast<double>(free_host_memory())) + " are free");
  } catch (const std::length_error&) {
    throw MemoryError(where + missing(), "asks for more memory than can be counted");
  }
}

template <class Work>
void naming_memory(const std::string& where, const Work& work) {
  naming_memory(where, work, [] { return std::string(); });
}

/// Runs `step`. Errors of shapes, plans and memory that do not name the layer get its name, `where`; those of memory
/// also what `missing` says.
template <class Step, class Missing>
void naming(const std::string& where, const Step& step, const Missing& missing) {
  const auto names_it = [&](const std::exception& e) { return std::string(e.what()).find(where) != std::string::npos; };
  try {
    naming_memory(where, step, missing);
  } catch (const ShapeError& error) {
    if (names_it(error)) throw;
    throw ShapeError(where, error.what());
  } catch (const PlanError& error) {
    if (names_it(error)) throw;
    throw PlanError(where, error.what());
  }
}

template <class Step>
void naming(const std::string& where, const Step& step) {
  naming(where, step, [] { return std::string(); });
}

}  // namespace cortado
