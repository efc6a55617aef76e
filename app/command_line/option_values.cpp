#include "app/command_line/option_values.h"

#include "comm/codec/codec.h"
#include "comm/collective/collective.h"

namespace cortado {

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
