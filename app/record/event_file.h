#pragma once
#include <string>

#include "app/record/saved_run.h"

namespace cortado {

/// A run's values as an event file of TensorBoard's: a scalar for each series, by its name. Records are TFRecords
/// (length, masked CRC32C of it, an Event, masked CRC32C of that).
std::string event_file(const RunTable& table);
/// Its name, in which TensorBoard looks for "tfevents". It follows from the run, so a second conversion replaces the
/// first.
std::string event_file_name(const RunTable& table);

/// CRC32C (Castagnoli) of bytes.
std::uint32_t crc32c(const std::string& bytes);

/// A run's values as a table of comma-separated values: a row per iteration, a column per series, empty where there is
/// no value.
std::string csv_text(const RunTable& table);

}  // namespace cortado
