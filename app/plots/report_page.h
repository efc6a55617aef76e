#pragma once
#include <string>
#include <vector>

#include "app/record/saved_run.h"

namespace cortado {

/// Files that a report shows beside runs.
struct ReportExtras {
  std::vector<std::pair<std::string, nlohmann::json>> times;      ///< names and contents of `cortado time --json`
  std::vector<std::pair<std::string, nlohmann::json>> timelines;  ///< and of `cortado train --timeline`
};

/// A page in HTML about runs, complete in itself: it loads nothing and runs no script.
std::string report_page(const std::vector<SavedRun>& runs, const ReportExtras& extras);

/// A figure of a page: its caption, the picture, and a legend of lines.
std::string figure_of(const std::string& title, const std::string& note, const std::string& picture,
                      const std::string& legend);

/// The parts of the page: a table of the runs, the net of the first, each one's record.
std::string summary_part(const std::vector<SavedRun>& runs);
std::string net_part(const SavedRun& run);
std::string record_part(const SavedRun& run);

}  // namespace cortado
