#pragma once
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "python/bindings/blob_face.h"
#include "python/bindings/interpreter.h"

namespace cortado::python {

/// A net as Python sees it: one of its own, or a solver's.
class NetFace : public Closable, public std::enable_shared_from_this<NetFace> {
 public:
  struct Options {
    Phase phase = Phase::test;
    int level = 0;
    std::vector<std::string> stages;
    std::string weights;  ///< a file; empty means the fillers' values
  };
  /// A net of its own. `parameter` is unfiltered.
  NetFace(caffe::NetParameter parameter, const Options& options);
  /// A net that `owner` holds. `keeps_values` is its NetOptions'.
  NetFace(Net& net, std::shared_ptr<void> owner, bool keeps_values);
  ~NetFace() override;
  NetFace(const NetFace&) = delete;
  NetFace& operator=(const NetFace&) = delete;

  /// Throws ConfigError once the interpreter ends.
  Net& net() const;
  Session& session() const { return interpreter_->session(); }
  /// Runs work that reads and writes blobs. Other Python threads go on meanwhile; arrays agree with blobs before and
  /// after.
  void run(const std::function<void()>& work);
  /// Within such work: calls Python, whose arrays agree with blobs before and after.
  void call(const std::function<void()>& python);
  enum Moment { before_forward, after_forward, before_backward, after_backward };
  /// From now on layers call the function with their number, behind those that they call already. Throws ConfigError
  /// where the net does not keep values.
  void add_callback(Moment moment, py::function callback);
  /// Runs layers [from, to) on the next batch, if `from` is 0; else on the last one. Returns the loss so far.
  double forward(std::size_t from, std::size_t to);
  BlobFace face(Blob& blob);
  BlobFace parameter(Blob& blob);
  void close() noexcept override;

 private:
  void find_moved();
  std::function<void(std::size_t)> caller(Moment moment);

  std::shared_ptr<Interpreter> interpreter_;
  std::shared_ptr<void> owner_;
  Net* net_ = nullptr;
  std::shared_ptr<BlobHouse> house_ = std::make_shared<BlobHouse>();
  std::set<const Blob*> moved_;
  bool has_run_ = false, keeps_values_ = true, has_callbacks_ = false;
  std::array<std::deque<py::function>, 4> callbacks_;  // by moment; functions stay where they are as others are added
};

void bind_nets(py::module_& module);

}  // namespace cortado::python
