#include "app/command_line/shared_flags.h"

#include "app/start/start_files.h"
#include "comm/codec/codec.h"
#include "comm/collective/collective.h"
#include "parallel_io/sets/image.h"

namespace cortado {

Flag add_file(Flags& flags, const std::string& name, std::string& file, const std::string& what) {
  return flags.add(name, file, what).compared_by([&file, name](StartFields& fields) {
    fields.push_back({name, name, content_of(file)});
  });
}

Flag add_weights(Flags& flags, std::string& files, const std::string& what) {
  return flags.add("--weights", files, what).compared_by([&files](StartFields& fields) {
    fields.push_back({"weights", "weights", contents_of(files)});
  });
}

void add_tuning(Flags& flags, std::string& file) {
  add_file(flags, "--tuning", file, "Tuning file (cortado tune), besides Cortado's and the user's own");
}

void add_json(Flags& flags, std::string& file) {
  flags.add("--json", file, "Also write the rows to this file").replaces_json().differs_by_rank();
}

void add_strict(Flags& flags) {
  flags.add_action("--strict", &refuse_damaged_images, "Images that are cut or damaged are errors, not warnings");
}

void add_rounds(Flags& flags, i64& rounds) {
  flags.add("--rounds", rounds, "Runs of each, interleaved; medians count").shows_default().positive();
}

std::string codec_names() {
  std::string names;
  for (const Codec* const codec : codecs()) names += (names.empty() ? "" : ", ") + codec->name();
  return names;
}

std::string algorithm_names(const std::string& collective) {
  std::string names;
  for (const Algorithm& algorithm : algorithms_of(collective)) names += (names.empty() ? "" : ", ") + algorithm.name;
  return names;
}

}  // namespace cortado
