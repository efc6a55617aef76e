#pragma once
#include <string>
#include <vector>

#include "app/plots/plot.h"
#include "app/record/saved_run.h"

namespace cortado {

/// Figures of a report: curves of runs, times of layers, work of ranks.
struct ReportPlots {
  std::vector<Plot> curves, times, ranks;
};

/// A page in HTML about runs, complete in itself: it loads nothing and runs no script.
std::string report_page(const std::vector<SavedRun>& runs, const ReportPlots& plots);

/// The parts of the page: a table of the runs, the net of the first, each one's record.
std::string summary_part(const std::vector<SavedRun>& runs);
std::string net_part(const SavedRun& run);
std::string record_part(const SavedRun& run);

}  // namespace cortado
