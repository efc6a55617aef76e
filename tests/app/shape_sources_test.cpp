// Zeros that stand for data whose source is away, for every kind of data layer.
#include "app/session/shape_sources.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "tests/support/backends.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::shape_sources_test {
namespace {
using Kind = BatchRequest::Kind;

BatchRequest absent(Kind kind, const std::vector<std::string>& fields = {}) {
  BatchRequest request;
  request.kind = kind;
  request.source = "no/such/source";
  request.fields = fields;
  request.batch = 2;
  request.windows.batch = 2;
  request.tops = fields.empty() ? std::vector<std::string>{"data", "label"} : fields;
  return request;
}

TEST(ShapeSources, ZerosStandForEveryKindOfSource) {
  CoreGroup& group = group_of("reference");
  caffe::TransformationParameter transform;
  transform.set_crop_size(6);
  for (auto request : {absent(Kind::set, {"data"}), absent(Kind::set, {"data", "label"}), absent(Kind::images),
                       absent(Kind::windows), absent(Kind::hdf5, {"data", "a", "b"})}) {
    request.transform = &transform;
    const bool is_hdf5 = request.kind == Kind::hdf5;  // takes no transformation
    const auto source = ShapeSources(false, is_hdf5 ? std::vector<std::string>{"3x6x6"} : std::vector<std::string>{})
                            .open(request, group);
    const auto batch = source->take(0, 2);
    ASSERT_EQ(source->sample_shapes().size(), request.tops.size());
    ASSERT_EQ(batch->fields.size(), source->sample_shapes().size());
    EXPECT_EQ(source->sample_shapes()[0], (Shape{3, 6, 6}));
    for (std::size_t i = 0; i < batch->fields.size(); ++i) {
      EXPECT_EQ(batch->fields[i]->count, i == 0 ? 2 * 3 * 6 * 6 : 2);
      EXPECT_EQ(batch->fields[i]->data[0], 0);
    }
  }
}

TEST(ShapeSources, AskForAShapeThatNothingTells) {
  CoreGroup& group = group_of("reference");
  for (const auto& request : {absent(Kind::set, {"data"}), absent(Kind::images), absent(Kind::hdf5, {"data"})}) {
    try {
      ShapeSources(false, {}).open(request, group);
      FAIL() << "a shape was made up";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("--shape 3x227x227"), std::string::npos) << error.what();
    }
    EXPECT_EQ(ShapeSources(false, {"5x4"}).open(request, group)->sample_shapes()[0], (Shape{5, 4}));
    EXPECT_THROW(ShapeSources(true, {"5x4"}).open(request, group), FileError) << "values are needed";
  }
}

TEST(ShapeSources, TopsAreToldByName) {
  CoreGroup& group = group_of("reference");
  const auto request = absent(Kind::hdf5, {"data", "similar", "label"});
  const auto shapes = [&](const std::vector<std::string>& given) {
    return ShapeSources(false, given).open(request, group)->sample_shapes();
  };
  EXPECT_EQ(shapes({"3x5", "label=1x7", "other=9"}), (std::vector<Shape>{{3, 5}, {}, {1, 7}}));
  EXPECT_EQ(shapes({"data=4", "3x5", "similar=4"}), (std::vector<Shape>{{4}, {4}, {}}));
  EXPECT_THROW(shapes({"label=3"}), FileError) << "nothing tells the first";
  for (const char* const wrong : {"3x0", "3xx4", "label=", "=", "-1", "3X4", "99999999999999999999"})
    EXPECT_THROW(ShapeSources(false, {wrong}), ConfigError) << wrong;
}

std::string mistake_in(const ShapeSources& sources, const std::function<void()>& use) {
  try {
    use();
    sources.settle_shapes();
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST(ShapeSources, RefuseShapesOfTopsThatAreNotThere) {
  CoreGroup& group = group_of("reference");
  const auto request = absent(Kind::hdf5, {"data", "label"});
  const auto said = [&](const std::vector<std::string>& given) {
    const ShapeSources sources(false, given);
    const ShapeSources copy = sources.without_values();
    return mistake_in(sources, [&] { copy.open(request, group); });
  };
  EXPECT_EQ(said({"3x5", "label=2"}), "");
  EXPECT_EQ(said({"3x5", "lable=2x4"}),
            "--shape lable=2x4: no layer that reads data has a top 'lable' (did you mean label?)");
  EXPECT_EQ(said({"3x5", "weight=2"}),
            "--shape weight=2: no layer that reads data has a top 'weight' (there are: data, label)");
  EXPECT_EQ(said({"dato=3x5"}), "--shape dato=3x5: no layer that reads data has a top 'dato' (did you mean data?)");
  const ShapeSources unused(false, {"3x5"});
  EXPECT_NE(mistake_in(unused, [] {}).find("the net has no layer that reads data"), std::string::npos);
}

TEST(ShapeSources, WarnOfShapesThatDataHaveAlready) {
  const TemporaryFolder folder;
  write_hdf5(folder.file("a.h5"), {{"data", {2, 3}, H5T_IEEE_F32LE, {1, 2, 3, 4, 5, 6}}});
  auto request = absent(Kind::hdf5, {"data"});
  request.source = folder.file("a.h5");
  const auto said = [&](const std::string& given) {
    const ShapeSources sources(false, {given});
    sources.open(request, group_of("reference"));
    testing::internal::CaptureStderr();
    sources.settle_shapes();
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said("3"), "");
  for (const char* const given : {"3x5", "data=4"})
    EXPECT_NE(said(given).find("--shape does nothing for top 'data': its source is there, and has samples of 3"),
              std::string::npos);
}

}  // namespace
}  // namespace cortado::test::shape_sources_test
