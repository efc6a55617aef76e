#include "tests/fuzz/target.h"

#include <google/protobuf/descriptor.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "tests/support/temporary_folder.h"

namespace cortado::fuzz {

std::vector<Target> targets() {
  return {prototxt(), solver(), binary_net(), caffemodel(), datum(), image(),      idx(),    solverstate(),
          hdf5(),     lmdb(),   list(),       tuning(),     rules(), onnx_model(), records()};
}

const std::string& folder() {
  static const test::TemporaryFolder made;
  static const std::string name = made.path().string();
  return name;
}

void write_file(const std::string& file, const std::uint8_t* data, std::size_t size) {
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> caffe_words() {
  std::vector<std::string> all = {"{", "}", "<", ">", "[", "]", ": ", "#", "\"", "\\x", "1e9", "-1", "true"};
  const auto* const file = caffe::NetParameter::descriptor()->file();
  for (int m = 0; m < file->message_type_count(); ++m)
    for (int f = 0; f < file->message_type(m)->field_count(); ++f) {
      const auto* const field = file->message_type(m)->field(f);
      all.push_back(field->name() + (field->message_type() == nullptr ? ": " : " { "));
    }
  for (int e = 0; e < file->enum_type_count(); ++e)
    for (int v = 0; v < file->enum_type(e)->value_count(); ++v) all.push_back(file->enum_type(e)->value(v)->name());
  return all;
}

void expect_errors_only(const std::function<void()>& read) {
  try {
    read();
  } catch (const BugError&) { throw; } catch (const Error&) {
  }
}

std::function<void(const std::uint8_t*, std::size_t)> of_file(void (*read)(const std::string& file)) {
  return [read](const std::uint8_t* data, std::size_t size) {
    const InputFile file(data, size);
    expect_errors_only([&] { read(file.name()); });
  };
}

InputFile::InputFile(const std::uint8_t* data, std::size_t size)
    : descriptor_(memfd_create("input", MFD_CLOEXEC)), name_("/proc/self/fd/" + std::to_string(descriptor_)) {
  if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size))
    throw std::runtime_error("no file for the input");
}

InputFile::~InputFile() { close(descriptor_); }

}  // namespace cortado::fuzz
