#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"
#include "core/tensor/blob.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::binary_test {
namespace {
caffe::NetParameter net_with_weights(int values) {
  caffe::NetParameter net;
  net.set_name("weights");
  auto& layer = *net.add_layer();
  layer.set_name("ip");
  layer.set_type("InnerProduct");
  auto& blob = *layer.add_blobs();
  blob.mutable_shape()->add_dim(1);
  blob.mutable_shape()->add_dim(values);
  for (int i = 0; i < values; ++i) blob.add_data(random_uniform(7, static_cast<std::uint64_t>(i)));
  return net;
}

TEST(Binary, RoundTripKeepsEveryBit) {
  TemporaryFolder folder;
  const std::string file = folder.file("net.caffemodel");
  const auto net = net_with_weights(100003);
  write_binary(file, net);
  caffe::NetParameter back;
  read_net(file, back);
  EXPECT_EQ(back.SerializeAsString(), net.SerializeAsString());
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
}

TEST(Binary, ReadNetTellsTextFromBinary) {
  TemporaryFolder folder;
  caffe::NetParameter net;
  read_net(folder.write("net.prototxt", "name: \"text\"\n"), net);
  EXPECT_EQ(net.name(), "text");
}

TEST(Binary, EveryTruncationIsNoticed) {
  TemporaryFolder folder;
  const std::string whole = net_with_weights(50).SerializeAsString();
  // Shorter than the name the file is a text; at the end of the name it is a whole net of no layers.
  for (std::size_t length = 10; length < whole.size(); ++length) {
    caffe::NetParameter net;
    EXPECT_THROW(read_binary(folder.write("cut", whole.substr(0, length)), net), FileError) << length << " bytes";
  }
}

TEST(Binary, ForeignFilesAreRefused) {
  TemporaryFolder folder;
  caffe::NetParameter net;
  EXPECT_THROW(read_binary(folder.write("empty", ""), net), FileError);
  EXPECT_THROW(read_binary(folder.write("text", "name: \"a\"\n"), net), FileError);
  EXPECT_THROW(read_binary(folder.write("hdf5", std::string("\x89HDF\r\n\x1a\n\0\0\0", 11)), net), FileError);
  caffe::SolverState state;
  state.set_iter(5000);
  state.set_learned_net("x.caffemodel");
  write_binary(folder.file("state"), state);
  EXPECT_THROW(read_binary(folder.file("state"), net), FileError);
  EXPECT_THROW(read_binary(folder.file("absent"), net), FileError);
}

TEST(Binary, AFailedWriteLeavesTheOldFile) {
  TemporaryFolder folder;
  const std::string file = folder.write("model", "old");
  EXPECT_THROW(replace_file(file, [](int) { return false; }), FileError);
  EXPECT_EQ(read_file(file), "old");
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
  EXPECT_THROW(write_binary(folder.file("no/such/folder/model"), net_with_weights(1)), FileError);
}

TEST(BlobProto, ReadsLegacyShapesAndDoubles) {
  caffe::BlobProto proto;
  proto.set_num(1);
  proto.set_channels(1);
  proto.set_height(1);
  proto.set_width(3);
  for (const double v : {1.0, 0.5, -2.0}) proto.add_double_data(v);
  EXPECT_EQ(shape_of(proto), (Shape{1, 1, 1, 3}));
  EXPECT_EQ(values_of(proto, "blob"), (std::vector<float>{1.0f, 0.5f, -2.0f}));
  EXPECT_TRUE(fits(proto, {3}));
  EXPECT_TRUE(fits(proto, {1, 3}));
  EXPECT_TRUE(fits(proto, {1, 3, 1, 1}));
  EXPECT_FALSE(fits(proto, {4}));
  EXPECT_FALSE(fits(proto, {3, 3}));
}

TEST(BlobProto, ShapesBeyondCountingAreRefused) {
  caffe::BlobProto legacy, shaped;
  legacy.set_num(1 << 30);
  legacy.set_channels(1 << 30);
  legacy.set_height(1 << 30);
  legacy.set_width(4);
  for (int i = 0; i < 3; ++i) shaped.mutable_shape()->add_dim(i64{1} << 62);
  for (auto* const proto : {&legacy, &shaped}) {
    proto->add_data(1);
    EXPECT_THROW(values_of(*proto, "blob"), FileError);
    EXPECT_THROW(count_of(shape_of(*proto)), ShapeError);
    EXPECT_NE(to_string(shape_of(*proto)).find("(too many)"), std::string::npos);
    EXPECT_FALSE(counted(shape_of(*proto)));
  }
  legacy.set_num(-1);
  legacy.set_channels(-1);
  legacy.set_height(1);
  legacy.set_width(1);
  EXPECT_THROW(values_of(legacy, "blob"), FileError);
  shaped.mutable_shape()->set_dim(1, 0);
  EXPECT_EQ(counted(shape_of(shaped)), 0);
}

TEST(BlobProto, NewShapesMustBeEqualButForOnes) {
  caffe::BlobProto proto;
  proto.mutable_shape()->add_dim(1);
  proto.mutable_shape()->add_dim(3);
  EXPECT_TRUE(fits(proto, {1, 3}));
  EXPECT_TRUE(fits(proto, {3}));
  EXPECT_FALSE(fits(proto, {2, 3}));
  EXPECT_THROW(values_of(proto, "blob"), FileError);  // no values
  proto.mutable_shape()->set_dim(0, -1);
  EXPECT_THROW(shape_of(proto), ShapeError);
}

}  // namespace
}  // namespace cortado::test::binary_test
