// The files of --solver: the solver itself, data sets, and the folder of snapshots.
#include <algorithm>

#include "app/doctor/checks.h"

namespace cortado::doctor {
namespace {
constexpr const char* of_sets = "data set";  // StartField::of of the fields that data sets add
constexpr i64 large_file = i64{1} << 30;
constexpr std::size_t many_nodes = 4;

bool has_solver(const JobFacts& job) { return !job.ranks[0].solver.file.empty(); }

/// The ranks' fields about data sets, or about the rest.
std::vector<std::vector<StartField>> fields_of_ranks(const JobFacts& job,
                                                     const std::function<bool(const StartField&)>& is_meant) {
  std::vector<std::vector<StartField>> all(job.ranks.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const StartField& field : job.ranks[i].solver.fields)
      if (is_meant(field)) all[i].push_back(field);
  return all;
}

const SetFacts* find_set(const RankFacts& rank, const std::string& which) {
  for (const SetFacts& set : rank.solver.sets)
    if (set.which == which) return &set;
  return nullptr;
}

std::string value_of(const RankFacts& rank, const std::string& name) {
  for (const StartField& field : rank.solver.fields)
    if (field.of == of_sets && field.name == name) return field.value;
  return "";
}

/// The sets of all ranks, by name, in rank 0's order, then what others have more.
std::vector<std::string> sets_of(const JobFacts& job) {
  std::vector<std::string> names;
  for (const RankFacts& rank : job.ranks)
    for (const SetFacts& set : rank.solver.sets)
      if (std::find(names.begin(), names.end(), set.which) == names.end()) names.push_back(set.which);
  return names;
}

/// A set that all ranks can open: are its contents equal?
Finding compare_set(const JobFacts& job, const std::string& which) {
  const auto is_its = [&](const StartField& field) {
    return field.of == of_sets && field.name.compare(0, which.size() + 2, which + ": ") == 0;
  };
  const Difference difference = first_difference(fields_of_ranks(job, is_its));
  if (!difference.where.empty())
    return {Grade::failure, "", difference.where + ": " + difference.what,
            "copy the set anew to the nodes of these ranks, or let all read one path"};
  const SetFacts& first = *find_set(job.ranks[0], which);
  return {Grade::ok, "",
          which + ": " + value_of(job.ranks[0], which + ": number of samples") + " samples in " + first.source +
              (job.ranks.size() > 1 ? ", equal on all ranks" : ""),
          ""};
}

/// The file of most bytes among the sets of a rank, under one kind of file system.
const StorageFacts* largest_of(const RankFacts& rank, const std::string& type) {
  const StorageFacts* largest = nullptr;
  for (const SetFacts& set : rank.solver.sets)
    for (const StorageFacts& file : set.files)
      if (file.type == type && (largest == nullptr || file.bytes > largest->bytes)) largest = &file;
  return largest;
}
}  // namespace

std::vector<Finding> check_solver(const JobFacts& job) {
  if (!has_solver(job)) return {};
  std::vector<Finding> found;
  for (const auto& [error, ranks] : texts_of_ranks(job, [](const RankFacts& rank) { return rank.solver.error; }))
    found.push_back(
        {Grade::failure, "", error + where_text(job, ranks),
         "put the solver and its nets on every rank's node, and start in the folder that they are named from"});
  if (!found.empty()) return found;
  const Difference difference =
      first_difference(fields_of_ranks(job, [](const StartField& field) { return field.of != of_sets; }));
  if (!difference.where.empty())
    found.push_back({Grade::failure, "", difference.where + ": " + difference.what, difference.advice});
  if (!job.net.error.empty()) {
    const auto& sets = job.ranks[0].solver.sets;
    const bool is_data = std::any_of(sets.begin(), sets.end(), [](const SetFacts& set) { return !set.error.empty(); });
    if (!is_data) found.push_back({Grade::failure, "", job.net.error, "train would end with this error"});
  }
  if (found.empty())
    found.push_back({Grade::ok, "",
                     job.ranks[0].solver.file + (job.ranks.size() > 1 ? ": equal on all ranks, with its nets" : ""),
                     ""});
  return found;
}

std::vector<Finding> check_sets(const JobFacts& job) {
  std::vector<Finding> found;
  for (const std::string& which : sets_of(job)) {
    const auto errors = texts_of_ranks(job, [&](const RankFacts& rank) {
      const SetFacts* const set = find_set(rank, which);
      if (set == nullptr) return rank.solver.error.empty() ? "no such layer in this rank's net" : std::string();
      return set->error;
    });
    for (const auto& [error, ranks] : errors)
      found.push_back({Grade::failure, "", which + ": " + error + where_text(job, ranks),
                       "put the set where every rank's node sees it, under the path that the net names"});
    const bool reads_all = std::all_of(job.ranks.begin(), job.ranks.end(),
                                       [&](const RankFacts& rank) { return find_set(rank, which) != nullptr; });
    if (errors.empty() && reads_all) found.push_back(compare_set(job, which));
  }
  if (found.empty() && has_solver(job) && job.ranks[0].solver.error.empty())
    found.push_back({Grade::ok, "", "the nets read no data sets", ""});
  return found;
}

std::vector<Finding> check_striping(const JobFacts& job) {
  std::vector<Finding> found;
  const RankFacts& first = job.ranks[0];
  std::vector<std::string> types;
  for (const SetFacts& set : first.solver.sets)
    for (const StorageFacts& file : set.files)
      if (!file.type.empty() && std::find(types.begin(), types.end(), file.type) == types.end())
        types.push_back(file.type);
  const std::size_t nodes = nodes_of(job).size();
  for (const std::string& type : types) {
    const StorageFacts& file = *largest_of(first, type);
    const std::string what = "sets lie on " + type;
    if (file.stripes > 0) {
      const std::string stripes = file.path + " has " + std::to_string(file.stripes) +
                                  (file.stripes == 1 ? " stripe" : " stripes") + " of " + bytes_text(file.stripe_bytes);
      if (file.stripes == 1 && file.bytes > large_file && nodes > 1)
        found.push_back({Grade::warning, "", what + ": " + stripes + ", so one server feeds all nodes",
                         "lfs migrate -c -1 FILE, or convert it to a striped set (docs/use/data.md)"});
      else
        found.push_back({Grade::ok, "", what + ": " + stripes, ""});
    } else if (type == "nfs" && nodes >= many_nodes) {
      found.push_back({Grade::warning, "", what + ": one server feeds " + std::to_string(nodes) + " nodes",
                       "copy the sets to each node's own disk, or to a parallel file system"});
    } else {
      found.push_back({Grade::ok, "", what + ", whose striping cannot be asked", ""});
    }
  }
  return found;
}

std::vector<Finding> check_snapshots(const JobFacts& job) {
  const StorageFacts& folder = job.ranks[0].solver.snapshots;
  if (folder.path.empty()) return {};
  const std::string where = folder.path + " ";
  if (!folder.error.empty())
    return {
        {Grade::failure, "", where + folder.error, "rank 0 writes there: change snapshot_prefix, or make it writable"}};
  const i64 need = job.net.snapshot;
  const std::string room =
      where + "has " + bytes_text(folder.free) + " left" + (need > 0 ? ", a snapshot takes " + bytes_text(need) : "");
  const char* const advice = "remove old snapshots, set snapshot_keep, or change snapshot_prefix";
  if (folder.free >= 0 && folder.free < need) return {{Grade::failure, "", room, advice}};
  if (folder.free >= 0 && folder.free < 2 * need)
    return {{Grade::warning, "", room + ": not enough for two, and the old one goes after the new", advice}};
  return {{Grade::ok, "", room, ""}};
}

}  // namespace cortado::doctor
