// Batches that are read ahead: the right samples, whatever is asked for and when; transformed as Caffe does.
#include "parallel_io/feed/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "core/base/error.h"
#include "core/base/memory_error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "parallel_io/feed/sources.h"
#include "tests/parallel_io/sets_rig.h"
#include "tests/support/backends.h"

namespace cortado::test::prefetcher_test {
namespace {

CoreGroup& group() { return group_of("reference"); }

/// Made samples that count how often they are read, can fail, and can be slow.
class WatchedSet : public MadeSet {
 public:
  WatchedSet(i64 samples, const Shape& shape, std::atomic<i64>& read_count, i64 failing = -1)
      : MadeSet(samples, shape, Stored::uint8), read_count_(read_count), failing_(failing) {}
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    for (i64 i = 0; i < count; ++i)
      if (indices[i] == failing_) throw FileError(where(indices[i]), "is broken");
    read_count_ += count;
    MadeSet::read(indices, count, to);
  }

 private:
  std::atomic<i64>& read_count_;
  i64 failing_;
};

BatchRequest request_of(i64 batch, i64 prefetch = 3) {
  BatchRequest request;
  request.batch = batch;
  request.prefetch = prefetch;
  return request;
}

void expect_batch(const Batch& batch, i64 first, i64 count, i64 samples, i64 size) {
  ASSERT_EQ(batch.first, first);
  for (i64 i = 0; i < count; ++i) {
    const i64 sample = (first + i) % samples;
    for (i64 e = 0; e < size; ++e) ASSERT_EQ(batch.fields[0]->data[i * size + e], MadeSet::value(sample, e)) << sample;
    ASSERT_EQ(batch.fields[1]->data[i], MadeSet::label(sample));
  }
}

TEST(Prefetcher, WhatMemoryCannotHoldIsToldAtOnce) {
  std::atomic<i64> read{0};
  const auto message_of = [&](i64 batch, i64 prefetch) {
    try {
      Prefetcher(std::make_unique<WatchedSet>(23, Shape{2, 3}, read), request_of(batch, prefetch), group());
    } catch (const MemoryError& error) { return std::string(error.what()); }
    return std::string("no error");
  };
  EXPECT_NE(message_of(4, i64{1} << 40).find("give a prefetch from 1 to "), std::string::npos)
      << message_of(4, i64{1} << 40);
  EXPECT_NE(message_of(i64{1} << 40, 1).find("smaller batch_size"), std::string::npos) << message_of(i64{1} << 40, 1);
  EXPECT_EQ(read, 0);
}

TEST(Prefetcher, GivesWhatIsAskedForInAnyOrder) {
  for (const int depth : {1, 2, 5}) {
    std::atomic<i64> read{0};
    Prefetcher source(std::make_unique<WatchedSet>(23, Shape{2, 3}, read), request_of(4, depth), group());
    for (const i64 first : {0, 4, 8, 12, 100, 104, 108, 0, 8, 16, 24, 4, 3, 2, 1, 1000000, 5})
      expect_batch(*source.take(first, 4), first, 4, 23, 6);
  }
}

TEST(Prefetcher, ReadsNoFurtherThanItsDepth) {
  std::atomic<i64> read{0};
  Prefetcher source(std::make_unique<WatchedSet>(1000, Shape{1}, read), request_of(10, 3), group());
  auto held = source.take(0, 10);
  for (int i = 0; i < 200 && read < 40; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(read, 40);  // the batch in use and three ahead
  EXPECT_EQ(source.statistics().depth, 3);
}

TEST(Prefetcher, LearnsAnotherStride) {
  std::atomic<i64> read{0};
  Prefetcher source(std::make_unique<WatchedSet>(1000, Shape{1}, read), request_of(10, 2), group());
  for (i64 first = 5; first < 900; first += 30) expect_batch(*source.take(first, 10), first, 10, 1000, 1);
  // 30 batches were taken; had it gone on with the wrong stride, each would have cost two more.
  EXPECT_LE(read, 10 * (30 + 2 * 3));
}

TEST(Prefetcher, BatchesStayWhileTheyAreHeldAndOutliveTheSource) {
  std::shared_ptr<const Batch> first, second;
  {
    std::atomic<i64> read{0};
    Prefetcher source(std::make_unique<WatchedSet>(50, Shape{4}, read), request_of(5, 1), group());
    first = source.take(0, 5);
    second = source.take(5, 5);
    expect_batch(*first, 0, 5, 50, 4);
    std::shared_ptr<const Batch> ready;
    for (int i = 0; i < 400 && !ready; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      first.reset();
      ready = source.take_if_ready();
    }
    ASSERT_TRUE(ready);
    expect_batch(*ready, 10, 5, 50, 4);
  }
  expect_batch(*second, 5, 5, 50, 4);
}

TEST(Prefetcher, AFailureReachesWhoWantsTheBatchAndNobodyElse) {
  std::atomic<i64> read{0};
  Prefetcher source(std::make_unique<WatchedSet>(40, Shape{4}, read, 17), request_of(5, 4), group());
  for (const i64 first : {0, 5, 10}) expect_batch(*source.take(first, 5), first, 5, 40, 4);
  expect_says(message_of([&] { source.take(15, 5); }), "made 17: is broken");
  expect_batch(*source.take(20, 5), 20, 5, 40, 4);
}

TEST(Prefetcher, ReadsInTheOrderAsked) {
  for (const auto kind : {SampleOrder::Kind::shuffled, SampleOrder::Kind::blocks}) {
    BatchRequest request = request_of(7);
    request.order = kind;
    request.block = 5;
    request.skip = 3;
    std::atomic<i64> read{0};
    Prefetcher source(std::make_unique<WatchedSet>(31, Shape{2}, read), request, group());
    const SampleOrder order(31, kind, request.seed, 5);
    for (i64 first = 0; first < 70; first += 7) {
      const auto batch = source.take(first, 7);
      for (i64 i = 0; i < 7; ++i) ASSERT_EQ(batch->fields[0]->data[2 * i], MadeSet::value(order(3 + first + i), 0));
    }
  }
}

/// One sample through a transformer.
std::vector<float> transformed(const std::string& text, bool training, i64 position, const Shape& shape = {3, 5, 4},
                               Stored stored = Stored::uint8) {
  caffe::TransformationParameter parameter;
  parse_text(text, "test", parameter);
  BatchRequest request;
  request.source = "made";
  request.transform = &parameter;
  request.training = training;
  const MadeSet made(1, shape, stored);
  const Transformer transformer(made.fields()[0], request, true);
  const auto values = read_all(made);
  std::vector<float> to(static_cast<std::size_t>(count_of(transformer.sample_shape())));
  transformer(
      {values[0].bytes.data(), static_cast<i64>(values[0].bytes.size()), position}, [] { return "made"; },
      [&](const Shape&) { return to.data(); });
  return to;
}

float pixel(i64 c, i64 y, i64 x) { return MadeSet::value(0, (c * 5 + y) * 4 + x); }

TEST(Transformer, SubtractsThenScalesAndCropsTheMiddleInTesting) {
  const auto to = transformed("scale: 0.5 mean_value: 1 mean_value: 2 mean_value: 3 crop_size: 2", false, 0);
  ASSERT_EQ(to.size(), 12u);
  for (i64 c = 0; c < 3; ++c)
    for (i64 y = 0; y < 2; ++y)
      for (i64 x = 0; x < 2; ++x)  // (5 - 2) / 2 = 1 row, (4 - 2) / 2 = 1 column
        EXPECT_EQ(to[static_cast<std::size_t>((c * 2 + y) * 2 + x)],
                  (pixel(c, 1 + y, 1 + x) - static_cast<float>(c + 1)) * 0.5f);
}

TEST(Transformer, RandomCropsAndMirrorsTakeAllPlacesAndDependOnThePositionAlone) {
  std::vector<std::vector<float>> seen;
  for (i64 position = 0; position < 400; ++position) {
    const auto to = transformed("crop_size: 3 mirror: true", true, position);
    EXPECT_EQ(to, transformed("crop_size: 3 mirror: true", true, position));
    if (std::find(seen.begin(), seen.end(), to) == seen.end()) seen.push_back(to);
  }
  EXPECT_EQ(seen.size(), 3u * 2u * 2u);  // rows, columns, mirrored or not
  for (const auto& to : seen) {
    bool found = false;
    for (i64 row = 0; row < 3; ++row)
      for (i64 column = 0; column < 2; ++column)
        for (const bool mirrored : {false, true}) {
          bool same = true;
          for (i64 e = 0; e < 27; ++e) {
            const i64 c = e / 9, y = e / 3 % 3, x = e % 3;
            same = same && to[static_cast<std::size_t>(e)] == pixel(c, row + y, column + (mirrored ? 2 - x : x));
          }
          found = found || same;
        }
    EXPECT_TRUE(found);
  }
}

TEST(Transformer, MeanFilesAreSubtractedBeforeTheCrop) {
  const TemporaryFolder folder;
  caffe::BlobProto mean;
  mean.set_num(1), mean.set_channels(3), mean.set_height(5), mean.set_width(4);
  for (int i = 0; i < 60; ++i) mean.add_data(static_cast<float>(i) / 4);
  write_binary(folder.file("mean"), mean);
  const auto to = transformed("mean_file: '" + folder.file("mean") + "' crop_size: 1", false, 0);
  for (i64 c = 0; c < 3; ++c) {  // row 2, column (4 - 1) / 2 = 1
    const i64 at = (c * 5 + 2) * 4 + 1;
    EXPECT_EQ(to[static_cast<std::size_t>(c)], pixel(c, 2, 1) - static_cast<float>(at) / 4);
  }
  expect_says(message_of([&] {
                transformed("mean_file: '" + folder.file("mean") + "'", false, 0, {1, 5, 4});
              }),
              "has 60 values");
}

TEST(Transformer, FloatsAndBytesAgree) {
  const auto floats = transformed("crop_size: 3 mirror: true mean_value: 2", true, 11, {3, 5, 4}, Stored::float32);
  const auto bytes = transformed("crop_size: 3 mirror: true", true, 11);
  for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_EQ(floats[i], bytes[i] / 8.0f - 3 - 2);
}

TEST(Transformer, MistakesAreNamed) {
  expect_says(message_of([] { transformed("crop_size: 5", true, 0); }), "larger than the first image");
  expect_says(message_of([] { transformed("mean_value: 1 mean_value: 2", true, 0); }), "2 mean_values for 3 channels");
  expect_says(message_of([] { transformed("mirror: true", true, 0, {7}); }), "no image");
  expect_says(message_of([] { transformed("mean_file: 'absent'", true, 0); }), "absent");
}

/// Values of the first sample that a source gives of PNG images of `channels`.
std::vector<float> first_of_images(i64 channels, const std::string& transform) {
  const TemporaryFolder folder;
  write(MadeSet(4, {channels, 5, 4}, Stored::uint8), folder.file("images.txt"), as(Format::images));
  caffe::TransformationParameter parameter;
  parse_text(transform, "test", parameter);
  BatchRequest request = request_of(1);
  request.source = folder.file("images.txt");
  request.transform = &parameter;
  const auto source = Sources().open(request, group());
  const auto batch = source->take(0, 1);
  const float* const values = batch->fields[0]->data;
  return {values, values + count_of(source->sample_shapes()[0])};
}

TEST(Sources, ColoursAreForced) {
  EXPECT_EQ(first_of_images(1, "").size(), 20u);
  const auto coloured = first_of_images(1, "force_color: true"), grey = first_of_images(3, "force_gray: true");
  ASSERT_EQ(coloured.size(), 60u);
  ASSERT_EQ(grey.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto e = static_cast<i64>(i);
    EXPECT_EQ(coloured[i], MadeSet::value(0, e));
    EXPECT_EQ(coloured[20 + i], coloured[i]);
    EXPECT_EQ(coloured[40 + i], coloured[i]);
    // Blue, green, red in luminance's shares.
    const double expected =
        0.114 * MadeSet::value(0, e) + 0.587 * MadeSet::value(0, 20 + e) + 0.299 * MadeSet::value(0, 40 + e);
    EXPECT_NEAR(double{grey[i]}, expected, 1.5);
  }
  expect_says(message_of([] { first_of_images(3, "force_color: true force_gray: true"); }), "both force_color");
}

TEST(Sources, VerifyingNeedsChecksums) {
  const TemporaryFolder folder;
  const MadeSet made(10, {1, 2, 2}, Stored::uint8);
  write(made, folder.file("l"), as(Format::lmdb));
  write(made, folder.file("a.h5"));
  BatchRequest request = request_of(2);
  request.verify = true;
  const Sources sources;
  request.source = folder.file("a.h5");
  expect_batch(*sources.open(request, group())->take(0, 2), 0, 2, 10, 4);
  request.source = folder.file("l");
  expect_says(message_of([&] { sources.open(request, group()); }), "no checksums");
}

}  // namespace
}  // namespace cortado::test::prefetcher_test
