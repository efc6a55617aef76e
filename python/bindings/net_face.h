#pragma once
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
  /// A net that `owner` holds.
  NetFace(Net& net, std::shared_ptr<void> owner);
  ~NetFace() override;
  NetFace(const NetFace&) = delete;
  NetFace& operator=(const NetFace&) = delete;

  /// Throws ConfigError once the interpreter ends.
  Net& net() const;
  Session& session() const { return interpreter_->session(); }
  /// Runs work that reads and writes blobs. Other Python threads go on meanwhile; arrays agree with blobs before and
  /// after.
  void run(const std::function<void()>& work);
  /// Runs layers [from, to) on the next batch, if `from` is 0; else on the last one. Returns the loss so far.
  double forward(std::size_t from, std::size_t to);
  BlobFace face(Blob& blob);
  BlobFace parameter(Blob& blob);
  void close() noexcept override;

 private:
  void find_moved();

  std::shared_ptr<Interpreter> interpreter_;
  std::shared_ptr<void> owner_;
  Net* net_ = nullptr;
  std::shared_ptr<BlobHouse> house_ = std::make_shared<BlobHouse>();
  std::set<const Blob*> moved_;
  bool has_run_ = false;
};

void bind_nets(py::module_& module);

}  // namespace cortado::python
