#pragma once
#include <string>

#include "app/plots/report_page.h"

namespace cortado {

/// The part of a page about the times of layers: a bar for each, by direction, with its share of the machine's limit.
/// Empty without files. Throws FileError for a file that is none of `cortado time --json`.
std::string times_part(const ReportExtras& extras);

/// The part of a page about what ranks spend their time with: a bar for each, and one for what runs beside it. Empty
/// without files. Throws FileError for a file that is none of `cortado train --timeline`.
std::string timelines_part(const ReportExtras& extras);

}  // namespace cortado
