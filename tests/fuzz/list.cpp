#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/image_set.h"
#include "parallel_io/sets/window_set.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

/// Below which lists name images: one in colour, one of labels.
const std::string& images() {
  static const std::string root = [] {
    for (const int channels : {3, 1}) {
      const auto size = static_cast<std::size_t>(channels) * 24;
      const auto png = encode_png({channels, 4, 6, std::vector<std::uint8_t>(size, 5)});
      write_file(folder() + (channels == 3 ? "/a.png" : "/l.png"), png.data(), png.size());
    }
    return folder() + "/";
  }();
  return root;
}

/// As a list of images with any labels or one, of windows, and of HDF5 files.
void run(const std::uint8_t* data, std::size_t size) {
  const InputFile file(data, size);
  std::vector<Values> values;
  for (const bool any_label : {false, true})
    expect_errors_only([&] {
      OpenOptions options;
      options.root = images();
      options.any_label = any_label;
      const ImageSet set(file.name(), options);
      for (i64 i = 0; i < set.samples(); ++i) expect_errors_only([&] { set.read(&i, 1, values); });
    });
  expect_errors_only([&] {
    caffe::TransformationParameter transform;
    transform.set_crop_size(4);
    BatchRequest request;
    request.source = file.name();
    request.images.root = images();
    request.transform = &transform;
    request.batch = request.windows.batch = 4;
    const WindowSet set(request);
    const i64 positions[] = {0, 1, 2, 3};
    set.read(positions, 4, values);
  });
  expect_errors_only([&] { const Hdf5Set set(file.name(), {}); });
}

std::vector<std::string> seeds() {
  return {"a.png 0\n\na.png 12\n  a.png\t-3 \r\n",
          "\xEF\xBB\xBF"
          "a.png 1 2 3\na.png 4 5 6\n",
          "a.png l.png\na.png  l.png\n",
          "# 0\na.png\n3\n4\n6\n2\n8 0.91 1 1 3 3\n8 0.22 0 0 5 3\n# 1\na.png\n3\n4\n6\n1\n2 0.3 0 0 2 2\n",
          "a.h5\nb.h5\n"};
}

std::vector<std::string> words() { return {"a.png", "l.png", "# 0", "a.h5", "0.5", "-1", "1e9"}; }
}  // namespace

Target list() { return {"list", run, seeds, words}; }

}  // namespace cortado::fuzz
