#pragma once
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado::test {

/// One file of Caffe's outputs.
struct GoldenCase {
  std::string name;  ///< "layers/relu"
  std::string file;
  bool required;  ///< listed in tests/golden/required.txt: must run

  friend std::ostream& operator<<(std::ostream& out, const GoldenCase& golden) { return out << golden.name; }
};

/// The folder that CORTADO_GOLDEN names; empty where it is not set.
std::string golden_folder();

/// The cases of a group (layers, nets, train), sorted: every HDF5 file there that holds a net.
std::vector<GoldenCase> golden_cases(const std::string& group);

/// For INSTANTIATE_TEST_SUITE_P; the group is left out.
std::string case_name(const ::testing::TestParamInfo<GoldenCase>& info);

/// The layers that the net needs and this tree does not have ("layer type LSTM, ..."); empty if there are none.
std::string missing_layers(const caffe::NetParameter& net, const LayerTable& layers);

/// Skips a case that lacks `missing`, or fails it when it is required. Returns whether the case can run.
bool can_run(const GoldenCase& golden, const std::string& missing);

/// Value `i` of stream `stream` of the formula that fills nets and data: 24 bits of splitmix64, in [0, 1).
double formula(std::uint64_t stream, i64 i);
/// Parameters of all layers by the formula; BatchNorm's stay as they are.
void fill_parameters(const Net& net);

}  // namespace cortado::test
