#include <algorithm>

#include "app/predict/predict.h"
#include "app/predict/published_prediction.h"
#include "app/report/report.h"

namespace cortado {
namespace {

/// "table 3, conv11 3->64: MB"
std::string place_of(const PublishedPrediction& entry) { return "table " + entry.table + ", " + entry.entry; }

/// Each reason once, with the values that it is for.
std::string notes_of(const std::vector<PublishedPrediction>& entries) {
  std::vector<std::pair<std::string, std::string>> notes;
  for (const auto& entry : entries) {
    if (entry.note.empty()) continue;
    const auto same = std::find_if(notes.begin(), notes.end(), [&](const auto& n) { return n.first == entry.note; });
    if (same == notes.end())
      notes.emplace_back(entry.note, place_of(entry));
    else
      same->second += "; " + entry.entry;
  }
  std::string text;
  for (const auto& note : notes) text += "- " + note.second + ": " + note.first + ".\n";
  return text;
}

}  // namespace

void show_published(const Session& session, const std::string& json) {
  const auto entries = published_predictions();
  Report report({{"place", "value"}, {"ours", "ours", 3}, {"printed", "printed", 3}, {"ratio", "ours/printed", 3}},
                session.group.spec(), {{"predict", "published"}, {"source", source_of_predictions()}});
  i64 follow = 0, all = 0;
  for (const auto& entry : entries) {
    report.add({{"place", place_of(entry)},
                {"table", entry.table},
                {"entry", entry.entry},
                {"ours", entry.ours},
                {"printed", entry.printed},
                {"ratio", entry.ratio()},
                {"follows", entry.follows()},
                {"fitted", entry.fitted},
                {"note", entry.note}});
    if (entry.fitted) continue;
    ++all;
    if (entry.follows()) ++follow;
  }
  show(report, session.job,
       "\n" + source_of_predictions() + ".\n" + std::to_string(follow) + " of " + std::to_string(all) +
           " printed values follow from the printed inputs, to within 3 %. The others:\n" + notes_of(entries),
       json);
}

}  // namespace cortado
