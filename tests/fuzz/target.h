#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cortado::fuzz {

/// A reader of files or of bytes, which a fuzzer feeds with bad input.
struct Target {
  std::string name;
  /// Reads the input as the program does. A cortado::Error is how bad input should end; any other exception is a
  /// finding, and so is a BugError.
  std::function<void(const std::uint8_t* data, std::size_t size)> run;
  /// Good input, from which a fuzzer starts.
  std::function<std::vector<std::string>()> seeds;
  /// Words that are worth putting together, for texts.
  std::function<std::vector<std::string>()> words = [] { return std::vector<std::string>(); };
};

/// One per file of this folder that is called so.
Target prototxt();
Target solver();
Target binary_net();
Target caffemodel();
Target datum();
Target image();
Target idx();
Target solverstate();
Target hdf5();
Target lmdb();
Target list();
Target tuning();
Target rules();
Target onnx_model();
Target records();

std::vector<Target> targets();

/// The words of Caffe's texts, for those that read them.
std::vector<std::string> caffe_words();

/// A folder of this process, for files that inputs name. It goes with the process.
const std::string& folder();

void write_file(const std::string& file, const std::uint8_t* data, std::size_t size);
/// The whole content of a file.
std::string content_of(const std::string& file);

/// Runs `read` and takes an Error for an answer.
void expect_errors_only(const std::function<void()>& read);

/// The `run` of a target that reads files: `read` gets the input as one, and an Error is an answer.
std::function<void(const std::uint8_t*, std::size_t)> of_file(void (*read)(const std::string& file));

/// Bytes as a file that lies in memory.
class InputFile {
 public:
  InputFile(const std::uint8_t* data, std::size_t size);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  /// A path of it.
  const std::string& name() const { return name_; }

 private:
  int descriptor_;
  std::string name_;
};

}  // namespace cortado::fuzz
