#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/plots/plot.h"

namespace cortado {

/// Names of files and what is in them.
using NamedJson = std::vector<std::pair<std::string, nlohmann::json>>;

/// The times of layers, a plot for each file of `cortado time --json`: a bar for each layer, by direction, with its
/// share of the machine's limit. Throws FileError for another file.
std::vector<Plot> times_plots(const NamedJson& files);

/// The work of ranks, a plot for each file of `cortado train --timeline`: a bar for each rank, and one for what runs
/// beside it. Throws FileError for another file.
std::vector<Plot> timeline_plots(const NamedJson& files);

}  // namespace cortado
