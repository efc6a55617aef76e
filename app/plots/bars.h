#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/plots/plot.h"

namespace cortado {

/// Names of files and what is in them.
using NamedJson = std::vector<std::pair<std::string, nlohmann::json>>;

/// Reads files. Throws FileError for one that is no JSON.
NamedJson read_json_files(const std::vector<std::string>& files);

/// The times of layers, for each file of `cortado time --json` as many plots as fit on a page each: a bar for each
/// layer, by direction, with its share of the machine's limit. Throws FileError for another file.
std::vector<Plot> times_plots(const NamedJson& files);

/// The work of ranks, as many plots for each file of `cortado train --timeline`: a bar for each rank, and one for what
/// runs beside it. Throws FileError for another file.
std::vector<Plot> timeline_plots(const NamedJson& files);

}  // namespace cortado
