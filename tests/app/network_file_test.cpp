// The cache of what models of collectives know.
#include "app/session/network_file.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::network_file_test {
namespace {

Network some_network() {
  Network network;
  network.in_node = Link::through({{8, 1e-6 / 3}, {1024, 2e-6}, {1 << 20, 1e-3 / 7}});
  network.inside = {{{0, 5e-3}}, 1.25e7, 3e-5, false, 16384};
  network.byte_summed = 1e-10 / 3;
  network.library["reduce"] = {{4096, 0.1}, {16384, 0.2}};
  return network;
}

class NetworkFileTest : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("networks/some.json");
  int measured_ = 0;
  Network take(const std::string& cluster, bool anew = false) {
    return cached_network(Replicas(), file_, cluster, anew, [&] {
      ++measured_;
      return some_network();
    });
  }
};

TEST_F(NetworkFileTest, ComesBackToTheBit) {
  const std::string text = network_text(take("here"), "here");
  EXPECT_EQ(text, network_text(some_network(), "here"));
  EXPECT_EQ(measured_, 1);
  EXPECT_EQ(network_text(take("here"), "here"), text);
  EXPECT_EQ(measured_, 1) << "the second time it is read";
  EXPECT_EQ(read_file(file_), text);
  EXPECT_EQ(parse_network(text, "f", "").library.at("reduce").at(1).seconds, 0.2);
  EXPECT_FALSE(parse_network(text, "f", "").inside.in_order);
  take("here", true);
  EXPECT_EQ(measured_, 2) << "asked for";
}

TEST_F(NetworkFileTest, OfAnotherClusterIsMeasuredAgain) {
  take("there");
  take("here");
  EXPECT_EQ(measured_, 2);
  take("here");
  EXPECT_EQ(measured_, 2);
}

TEST_F(NetworkFileTest, BrokenIsMeasuredAgain) {
  take("here");
  const std::string whole = read_file(file_);
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"), std::string("{\"version\": 0}")}) {
    write_text(file_, text);
    const int before = measured_;
    take("here");
    EXPECT_EQ(measured_, before + 1) << text;
    EXPECT_EQ(read_file(file_), whole);
  }
}

TEST_F(NetworkFileTest, WhereNothingCanBeKeptIsMeasured) {
  write_text(folder_.file("networks"), "a file in the folder's place");
  EXPECT_EQ(network_text(take("here"), ""), network_text(some_network(), ""));
}

TEST_F(NetworkFileTest, MistakesAreNamed) {
  const std::string text = network_text(some_network(), "here");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_NO_THROW(parse_network(text, "f", ""));
  EXPECT_THROW(parse_network(text, "f", "there"), ConfigError);
  EXPECT_THROW(parse_network(with("\"bandwidth\": 12500000.0", "\"bandwidth\": 0"), "f", ""), ConfigError);
  EXPECT_THROW(parse_network(with("\"gap\": 3e-05", "\"gap\": \"none\""), "f", ""), ConfigError);
  EXPECT_THROW(parse_network(with("16384.0,", "4096,"), "f", ""), ConfigError) << "sizes that do not grow";
  EXPECT_THROW(parse_network(with("\"version\": 1", "\"version\": 2"), "f", ""), ConfigError);
}

}  // namespace
}  // namespace cortado::test::network_file_test
