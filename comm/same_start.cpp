#include "comm/same_start.h"

#include <map>

#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/base/types.h"

namespace cortado {
namespace {
constexpr char between = '\0', behind = '\1';

std::string text_of(const std::vector<StartField>& fields) {
  std::string text;
  for (const StartField& field : fields) text += field.of + between + field.name + between + field.value + behind;
  return text;
}

std::vector<StartField> fields_of(const std::string& text) {
  std::vector<StartField> fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find(behind, at), name = text.find(between, at) + 1;
    const std::size_t value = text.find(between, name) + 1;
    fields.push_back(
        {text.substr(at, name - 1 - at), text.substr(name, value - 1 - name), text.substr(value, end - value)});
    at = end + 1;
  }
  return fields;
}

std::uint64_t hash_of(const std::string& text) {  // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

const StartField* find(const std::vector<StartField>& fields, const StartField& like) {
  for (const StartField& field : fields)
    if (field.name == like.name && field.of == like.of) return &field;
  return nullptr;
}

std::string list(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

std::string shown(const StartField* field) { return field == nullptr ? "none" : field->value; }

/// True if that field differs on some rank; `difference` then tells the ranks' values.
bool differs(const std::vector<std::vector<StartField>>& ranks, const StartField& field, Difference& difference) {
  const std::string due = shown(find(ranks[0], field));
  std::vector<std::size_t> others;
  std::string theirs;
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    const std::string own = shown(find(ranks[r], field));
    if (own.empty() || due.empty() || own == due || (!others.empty() && own != theirs)) continue;
    theirs = own;
    others.push_back(r);
  }
  if (others.empty()) return false;
  difference = {list(others),
                field.name + (others.size() == 1 ? " is " : ": they have ") + theirs + ", rank 0 has " + due,
                "give all ranks the same " + field.of};
  return true;
}
}  // namespace

Difference first_difference(const std::vector<std::vector<StartField>>& ranks) {
  Difference difference;
  std::map<std::string, std::string> due;
  for (const StartField& field : ranks[0]) due[field.of + between + field.name] = field.value;
  std::map<std::string, bool> suspects;
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    std::map<std::string, std::string> own;
    for (const StartField& field : ranks[r]) own[field.of + between + field.name] = field.value;
    for (const auto& [key, value] : due)
      if (own.count(key) == 0 || own[key] != value) suspects[key] = true;
    for (const auto& [key, value] : own)
      if (due.count(key) == 0) suspects[key] = true;
  }
  for (const auto& fields : ranks)  // rank 0's in their order, then what others have more
    for (const StartField& field : fields)
      if (suspects.count(field.of + between + field.name) > 0 && differs(ranks, field, difference)) return difference;
  return difference;
}

void require_same(const MpiReplicas& ranks, const std::vector<StartField>& fields) {
  if (ranks.size() == 1) return;
  const std::string own = text_of(fields);
  std::uint64_t least[2] = {hash_of(own), ~hash_of(own)};
  all_reduce(ranks.communicator(), "collective 'start'", least, 2, MPI_UINT64_T, MPI_MIN);
  if (least[0] == ~least[1]) return;
  std::vector<std::vector<StartField>> all;
  for (const std::string& text : gather(ranks.communicator(), "collective 'start'", own))
    all.push_back(fields_of(text));
  Difference difference;
  if (ranks.rank() == 0) difference = first_difference(all);
  difference.where = ranks.from_root(difference.where);
  difference.what = ranks.from_root(difference.what);
  difference.advice = ranks.from_root(difference.advice);
  if (!difference.where.empty()) throw ConfigError(difference.where, difference.what, difference.advice);
}

}  // namespace cortado
