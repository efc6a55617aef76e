#pragma once
#include <string>

#include "app/command_line/flags.h"

namespace cortado {

// Flags that several verbs have, with one text for all.

/// A file that the verb reads; ranks compare its content.
Flag add_file(Flags& flags, const std::string& name, std::string& file, const std::string& what);
/// --weights: files separated by commas, whose contents ranks compare.
Flag add_weights(Flags& flags, std::string& files, const std::string& what);
/// --tuning: the job's tuning file, besides the shipped one and the user's.
void add_tuning(Flags& flags, std::string& file);
/// --json: a file for the rows of a report.
void add_json(Flags& flags, std::string& file);
/// --strict: a damaged image is an error.
void add_strict(Flags& flags);
/// --rounds: runs of each candidate.
void add_rounds(Flags& flags, i64& rounds);

/// The values of a flag, for --help: names separated by commas.
std::string codec_names();
/// `collective` is "allreduce", "reduce" or "broadcast".
std::string algorithm_names(const std::string& collective);

}  // namespace cortado
