#include "core/machine/devices.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr const char* where = "--devices";
}

DeviceChoice parse_devices(const std::vector<std::string>& words) {
  DeviceChoice choice;
  if (words == std::vector<std::string>{"all"}) {
    choice.all = true;
    return choice;
  }
  for (const std::string& word : words) {
    const bool is_number = !word.empty() && word.size() < 5 &&
                           std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number)
      throw ConfigError(where, "'" + word + "' is no number of a device",
                        "give numbers separated by commas, such as 0,1, or all");
    choice.numbers.push_back(std::stoi(word));
  }
  return choice;
}

std::vector<int> devices_of_core_groups(const DeviceChoice& choice, int available, int core_groups) {
  std::vector<int> list = choice.numbers;
  for (const int number : list)
    if (number >= available)
      throw ConfigError(where,
                        "there is no device " + std::to_string(number) + ": this process sees " +
                            std::to_string(available) + ", counted from 0",
                        "see cortado device_query and CUDA_VISIBLE_DEVICES");
  if (list.empty()) {
    list.resize(static_cast<std::size_t>(available));
    std::iota(list.begin(), list.end(), 0);
  }
  const int count = static_cast<int>(list.size());
  int groups = core_groups;
  if (groups == 0) groups = choice.all || !choice.numbers.empty() ? std::max(1, count / choice.local_ranks) : 1;
  if (core_groups == 0 && groups > 1 && count % choice.local_ranks != 0)
    throw ConfigError(where,
                      std::to_string(count) + " devices cannot be shared evenly by the " +
                          std::to_string(choice.local_ranks) + " ranks of this node",
                      "name a multiple of them, or say with --core-groups how many each rank uses");
  std::vector<int> mine;
  for (int i = 0; i < groups; ++i)
    mine.push_back(list[static_cast<std::size_t>((choice.local_rank * groups + i) % count)]);
  return mine;
}

}  // namespace cortado
