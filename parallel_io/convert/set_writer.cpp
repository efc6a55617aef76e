#include "parallel_io/convert/set_writer.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/pulse.h"
#include "parallel_io/convert/file_writers.h"
#include "parallel_io/convert/lmdb_writer.h"
#include "parallel_io/convert/striped_writer.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;
constexpr i64 chunk_bytes = 16 << 20, most_in_chunk = 1024;  // read and written at a time

/// Everything that makes two conversions different.
std::string plan_text(const DataSet& set, const WriteOptions& options) {
  std::string text = "from " + options.from + "\nsamples " + std::to_string(set.samples()) + "\n";
  for (const auto& field : set.fields())
    text +=
        field.name + " " + std::to_string(static_cast<int>(field.stored)) + " " + to_string(field.sample_shape) + "\n";
  text += "format " + std::to_string(static_cast<int>(options.format)) + " stripes " + std::to_string(options.stripes) +
          " of " + std::to_string(options.stripe_bytes) + " in";
  for (const auto& folder : options.folders) text += " " + folder;
  return text + "\n";
}
}  // namespace

void meet(const Replicas& ranks) {
  double nothing = 0;
  ranks.sum(&nothing, 1);
}

/// Throws FileError if the conversion's names are taken. Returns whether an unfinished one of this plan took them.
bool Unfinished::expect_free(const std::string& to, const std::string& plan, const std::vector<std::string>& works) {
  const std::string note = name(to);
  const auto expect = [](const std::string& file) {
    if (is_taken(file)) throw FileError(file, "is there already", "remove it, or give another name");
  };
  expect(to);
  const bool goes_on = is_taken(note);
  if (goes_on && read_file(note) != plan)
    throw FileError(to, "is the unfinished work of another conversion",
                    "remove " + note + (works.empty() ? "" : " and " + works[0]) + " to begin anew");
  for (const auto& work : works)  // without a note they are others'
    if (!goes_on) expect(work);
  return goes_on;
}

Unfinished::Unfinished(const std::string& to, const WritePlan& plan, const Replicas& ranks,
                       const std::vector<std::string>& works)
    : to_(to) {
  const std::string note = name(to);
  std::string problem;
  if (ranks.rank() == 0) {
    try {
      make_folders(folder_of(to));
      goes_on_ = expect_free(to, plan.text, works);
    } catch (const FileError& error) { problem = error.what(); }
  }
  // All ranks find the same mistake.
  problem = ranks.from_root(problem);
  if (!problem.empty()) throw FileError("", problem);
  if (!plan.keeps_unfinished) {
    std::vector<std::string> paths(works.rbegin(), works.rend());
    paths.push_back(note);  // last: without it the others would be nobody's
    leftovers_.emplace(paths);
  }
  if (ranks.rank() == 0 && !goes_on_) {
    NewFile text(note);
    text.write(plan.text.data(), static_cast<i64>(plan.text.size()));
    text.create();
  }
  goes_on_ = ranks.from_root(std::string(goes_on_ ? "1" : "")) == "1";
}

void Unfinished::remove() const {
  std::error_code error;
  fs::remove(name(to_), error);
}

/// Refuses sets that a format cannot hold, before anything is on the disk.
template <class Writer>
std::unique_ptr<SetWriter> writer_that_fits(const DataSet& set, const std::string& to, const WritePlan& plan,
                                            const Replicas& ranks) {
  Writer::expect_fits(set, to);
  return std::make_unique<Writer>(set, to, plan, ranks);
}

std::unique_ptr<SetWriter> make_writer(const DataSet& set, const std::string& to, const WriteOptions& options,
                                       const Replicas& ranks) {
  const WritePlan plan{plan_text(set, options), options.keeps_unfinished};
  require(options.keeps_unfinished || options.format == Format::hdf5 || options.format == Format::lmdb,
          "these formats give names to parts before the whole is finished");
  switch (options.format) {
    case Format::lmdb: return writer_that_fits<LmdbWriter>(set, to, plan, ranks);
    case Format::images: return writer_that_fits<ImageWriter>(set, to, plan, ranks);
    case Format::idx: return writer_that_fits<IdxWriter>(set, to, plan, ranks);
    case Format::cifar: return writer_that_fits<CifarWriter>(set, to, plan, ranks);
    default: return std::make_unique<StripedWriter>(set, to, options, plan, ranks);
  }
}

void write_set(const DataSet& set, SetWriter& to, const Replicas& ranks, const Progress& progress) {
  const i64 blocks = (set.samples() + to.block() - 1) / to.block();
  const i64 chunk = std::clamp<i64>(chunk_bytes / std::max<i64>(1, set.fields()[0].sample_bytes()), 1, most_in_chunk);
  const i64 writers = to.takes_many() ? ranks.size() : 1;
  std::vector<i64> indices;
  std::vector<Values> values;
  for (i64 b = ranks.rank(); ranks.rank() < writers && b < blocks; b += writers) {
    const i64 begin = b * to.block(), end = std::min(begin + to.block(), set.samples());
    if (!to.is_done(b)) {
      for (i64 first = begin; first < end; first += chunk) {
        indices.resize(static_cast<std::size_t>(std::min(chunk, end - first)));
        std::iota(indices.begin(), indices.end(), first);
        set.read(indices.data(), static_cast<i64>(indices.size()), values);
        to.write(first, static_cast<i64>(indices.size()), values);
        pulse();  // others may have done their part long since
        if (progress) progress(first + static_cast<i64>(indices.size()), set.samples());
      }
      to.finish_block(b);
    }
  }
  meet(ranks);
  to.finish();
  if (progress) progress(set.samples(), set.samples());
}

}  // namespace cortado
