#include "python/bindings/arrays.h"

#include <algorithm>

#include "core/formats/digest.h"
#include "python/bindings/interpreter.h"

namespace cortado::python {
namespace {
using Array = py::array_t<float, py::array::c_style>;

std::string digest_of(const Array& array) {
  Digest digest;
  digest.add(array.data(), static_cast<std::size_t>(array.nbytes()));
  return digest.text();
}

bool is_same_shape(const Array& array, const Blob& blob) {
  const Shape shape(array.shape(), array.shape() + array.ndim());
  return shape == blob.shape();
}

void read(const Blob& blob, Part which, float* to) {
  if (blob.count() == 0) return;
  which == Part::data ? blob.read_data(to) : blob.read_diff(to);
}

void write(Blob& blob, Part which, const float* from) {
  if (blob.count() == 0) return;
  which == Part::data ? blob.write_data(from) : blob.write_diff(from);
}

/// An array over the blob's memory, which lives as long as the array.
Array view_of(Blob& blob, Part which) {
  blob.group().wait();
  float* const memory = which == Part::data ? blob.mutable_data() : blob.mutable_diff();
  auto* const holder = new Blob(blob.group(), blob.shape());
  const py::capsule keeper(holder, [](void* held) {
    if (Interpreter::running() != nullptr)
      delete static_cast<Blob*>(held);  // else its memory has gone with the processor
  });
  which == Part::data ? holder->share_data(blob) : holder->share_diff(blob);
  return Array(blob.shape(), memory, keeper);
}
}  // namespace

py::array Arrays::of(Blob& blob, Part which, bool is_moved) {
  const bool is_plain = blob.group().spec().host_memory && blob.precision() == Precision::fp32 &&
                        blob.layout() == Layout::nchw && !(is_moved && which == Part::data);
  if (blob.count() == 0) return Array(blob.shape());
  if (is_plain) return view_of(blob, which);
  for (const Copy& copy : copies_) {
    if (copy.blob != &blob || copy.which != which) continue;
    const py::object there = copy.array();
    if (!there.is_none() && is_same_shape(py::reinterpret_borrow<Array>(there), blob))
      return py::reinterpret_borrow<Array>(there);
  }
  Array array(blob.shape());
  read(blob, which, array.mutable_data());
  copies_.push_back({&blob, which, py::weakref(array), digest_of(array)});
  return array;
}

void Arrays::write_back() {
  for (Copy& copy : copies_) {
    const py::object there = copy.array();
    if (there.is_none()) continue;
    const auto array = py::reinterpret_borrow<Array>(there);
    if (is_same_shape(array, *copy.blob) && digest_of(array) != copy.digest)
      write(*copy.blob, copy.which, array.data());
  }
}

void Arrays::refresh() {
  const auto is_gone = [](const Copy& copy) {
    const py::object there = copy.array();
    return there.is_none() || !is_same_shape(py::reinterpret_borrow<Array>(there), *copy.blob);
  };
  copies_.erase(std::remove_if(copies_.begin(), copies_.end(), is_gone), copies_.end());
  for (Copy& copy : copies_) {
    auto array = py::reinterpret_borrow<Array>(copy.array());
    read(*copy.blob, copy.which, array.mutable_data());
    copy.digest = digest_of(array);
  }
}

}  // namespace cortado::python
