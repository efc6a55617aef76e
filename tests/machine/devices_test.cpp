// Which of a node's devices a process's core groups use.
#include "core/machine/devices.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace cortado::devices_test {
namespace {

using Devices = std::vector<int>;

DeviceChoice choice(const std::vector<std::string>& words, int local_rank = 0, int local_ranks = 1) {
  DeviceChoice chosen = parse_devices(words);
  chosen.local_rank = local_rank;
  chosen.local_ranks = local_ranks;
  return chosen;
}

std::string refusal(const DeviceChoice& chosen, int available, int core_groups = 0) {
  try {
    devices_of_core_groups(chosen, available, core_groups);
  } catch (const ConfigError& error) { return error.what(); }
  return "";
}

TEST(DevicesTest, WordsAreNumbersOrAll) {
  EXPECT_EQ(parse_devices({"2", "0"}).numbers, (Devices{2, 0}));
  EXPECT_TRUE(parse_devices({"all"}).all);
  EXPECT_FALSE(parse_devices({}).all);
  for (const char* word : {"-1", "1.5", "x", "", "all", "99999999999"})
    EXPECT_THROW(parse_devices({"0", word}), ConfigError) << word;
}

TEST(DevicesTest, ARankHasItsOwnUnlessAsked) {
  EXPECT_EQ(devices_of_core_groups(choice({}), 4, 0), Devices{0});
  EXPECT_EQ(devices_of_core_groups(choice({}, 2, 4), 4, 0), Devices{2});
  EXPECT_EQ(devices_of_core_groups(choice({}, 5, 8), 4, 0), Devices{1}) << "more ranks than devices";
  EXPECT_EQ(devices_of_core_groups(choice({}, 1, 2), 4, 2), (Devices{2, 3}));
  EXPECT_EQ(devices_of_core_groups(choice({}), 2, 3), (Devices{0, 1, 0})) << "more core groups than devices";
}

TEST(DevicesTest, EachChosenDeviceGetsACoreGroup) {
  EXPECT_EQ(devices_of_core_groups(choice({"1", "3"}), 4, 0), (Devices{1, 3}));
  EXPECT_EQ(devices_of_core_groups(choice({"0", "0"}), 1, 0), (Devices{0, 0}));
  EXPECT_EQ(devices_of_core_groups(choice({"all"}), 3, 0), (Devices{0, 1, 2}));
  EXPECT_EQ(devices_of_core_groups(choice({"1", "3"}), 4, 1), Devices{1}) << "a verb with one core group";
  EXPECT_EQ(devices_of_core_groups(choice({"2"}), 4, 2), (Devices{2, 2}));
}

TEST(DevicesTest, RanksOfANodeShareWhatWasChosen) {
  EXPECT_EQ(devices_of_core_groups(choice({"0", "1", "2", "3"}, 1, 2), 4, 0), (Devices{2, 3}));
  EXPECT_EQ(devices_of_core_groups(choice({"all"}, 1, 2), 4, 0), (Devices{2, 3}));
  EXPECT_EQ(devices_of_core_groups(choice({"5", "6"}, 3, 4), 8, 0), Devices{6});
  const std::string uneven = refusal(choice({"all"}, 0, 2), 5);
  EXPECT_NE(uneven.find("5 devices cannot be shared evenly by the 2 ranks"), std::string::npos) << uneven;
  EXPECT_EQ(refusal(choice({"all"}, 0, 2), 5, 1), "");
}

TEST(DevicesTest, DevicesThatAreNotThereAreRefused) {
  const std::string absent = refusal(choice({"0", "2"}), 2);
  EXPECT_NE(absent.find("there is no device 2: this process sees 2"), std::string::npos) << absent;
}

}  // namespace
}  // namespace cortado::devices_test
