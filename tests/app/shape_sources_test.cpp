// Zeros that stand for data whose source is away, for every kind of data layer.
#include "app/session/shape_sources.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "tests/support/backends.h"

namespace cortado::test {
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

}  // namespace
}  // namespace cortado::test
