#pragma once
#include <string>
#include <vector>

#include "backends/reference/processor.h"
#include "core/machine/core_group.h"

namespace cortado::test {

/// The value of `key` in CORTADO_CONFIGURATION ("backend=lanes exchange=packed_allreduce precision=float"), by which
/// scripts/test-matrix reruns the tests under one configuration after another; empty where it says nothing.
std::string configured(const std::string& key);

/// The options of backend "late", a device whose copies are late. The configuration may make them early, or let them
/// come in any order that streams allow ("backend=late order=any seed=7").
reference::Options late_options();

/// The backends of this build (or the configured one) that every test body is run on: "reference" (serial, checking),
/// "lanes" (checking, each body as several lanes), "late" (checking, a device with memory of its own), and the Kokkos
/// backend or the simulator by its machine's name. The simulator's second machine, "sw26010pro", is there by name
/// alone.
const std::vector<std::string>& backend_names();

/// Backends that some test bodies are run on as well: the simulator's second machine.
const std::vector<std::string>& further_backends();

/// Core group 0 of that backend's processor, made on first use and kept. Throws BugError for an unknown name.
CoreGroup& group_of(const std::string& backend);

}  // namespace cortado::test
