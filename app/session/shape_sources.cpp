#include "app/session/shape_sources.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/close_name.h"
#include "parallel_io/feed/zero_source.h"

namespace cortado {
namespace {
Shape shape_in(const std::string& text) {
  Shape shape;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, 'x');) {
    i64 size = 0;
    const auto end = std::from_chars(part.data(), part.data() + part.size(), size);
    if (end.ec != std::errc() || end.ptr != part.data() + part.size() || size < 1)
      throw ConfigError("--shape " + text, "is no shape", "write a sample's, such as 3x227x227");
    shape.push_back(size);
  }
  if (shape.empty()) throw ConfigError("--shape", "has no numbers", "write a sample's shape, such as 3x227x227");
  return shape;
}

std::string text_of(const Shape& shape) {
  std::string text;
  for (const i64 size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

[[noreturn]] void unknown_top(const std::string& top, const Shape& shape, const std::vector<std::string>& tops) {
  const std::string close = close_name(top, tops);
  std::string all;
  for (const auto& one : tops) all += (all.empty() ? "" : ", ") + one;
  throw ConfigError("--shape " + top + "=" + text_of(shape), "no layer that reads data has a top '" + top + "'",
                    close.empty() ? "there are: " + all : "did you mean " + close + "?");
}

/// What the layer itself says of its images; empty if nothing.
Shape own_shape(const BatchRequest& request) {
  if (request.kind == BatchRequest::Kind::hdf5) return {};
  const auto* const transform = request.transform;
  i64 channels = request.images.grey ? 1 : 3;
  if (transform != nullptr && transform->mean_value_size() > 1) channels = transform->mean_value_size();
  if (transform != nullptr && transform->force_gray()) channels = 1;
  if (transform != nullptr && transform->crop_size() > 0)
    return {channels, transform->crop_size(), transform->crop_size()};
  if (request.images.height > 0) return {channels, request.images.height, request.images.width};
  return {};
}

}  // namespace

ShapeSources::ShapeSources(bool needs_values, const std::vector<std::string>& shapes)
    : opener_(std::make_shared<Sources>()), needs_values_(needs_values) {
  for (const std::string& text : shapes) {
    const std::size_t equals = text.rfind('=');
    const std::string top = equals == std::string::npos ? "" : text.substr(0, equals);
    shapes_[top] = shape_in(text.substr(equals == std::string::npos ? 0 : equals + 1));
  }
}

ShapeSources ShapeSources::without_values() const {
  ShapeSources dry(*this);
  dry.opener_ = std::make_shared<ShapesOnly>();
  dry.tells_late_ = true;
  return dry;
}

const Shape* ShapeSources::given(const BatchRequest& request, std::size_t top) const {
  auto found = top < request.tops.size() ? shapes_.find(request.tops[top]) : shapes_.end();
  if (found == shapes_.end() && top == 0) found = shapes_.find("");
  return found == shapes_.end() ? nullptr : &found->second;
}

/// Empty if nothing tells the first.
std::vector<Shape> ShapeSources::shapes_for(const BatchRequest& request) const {
  std::vector<Shape> shapes(std::max<std::size_t>(request.tops.size(), 1));  // labels: a number each
  shapes[0] = own_shape(request);
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (const Shape* const shape = given(request, i)) shapes[i] = *shape;
  return shapes[0].empty() ? std::vector<Shape>{} : shapes;
}

void ShapeSources::settle_shapes() const {
  for (const auto& warning : opened_->warnings) CORTADO_LOG(warning) << warning;
  const std::vector<std::string> tops(opened_->tops.begin(), opened_->tops.end());
  for (const auto& [top, shape] : shapes_) {
    if (tops.empty())
      throw ConfigError("--shape", "does nothing: the net has no layer that reads data",
                        "change the shapes in the net");
    if (!top.empty() && opened_->tops.count(top) == 0) unknown_top(top, shape, tops);
  }
}

std::unique_ptr<BatchSource> ShapeSources::open(const BatchRequest& request, CoreGroup& group) const {
  opened_->tops.insert(request.tops.begin(), request.tops.end());
  try {
    auto source = opener_->open(request, group);
    for (std::size_t i = 0; i < source->sample_shapes().size(); ++i) {
      const Shape *const shape = given(request, i), &own = source->sample_shapes()[i];
      if (shape != nullptr && *shape != own)
        opened_->warnings.insert("--shape does nothing for top '" + (i < request.tops.size() ? request.tops[i] : "") +
                                 "': its source is there, and has samples of " +
                                 (own.empty() ? "one number" : text_of(own)));
    }
    return source;
  } catch (const FileError& error) {
    if (needs_values_) throw;
    const std::vector<Shape> shapes = shapes_for(request);
    if (shapes.empty()) {
      for (const auto& [top, shape] : shapes_)
        if (opened_->tops.count(top) == 0 && !close_name(top, request.tops).empty())
          unknown_top(top, shape, request.tops);
      throw FileError("", std::string(error.what()) + "; shapes are enough here",
                      "say what a sample of it is, such as --shape 3x227x227, or --shape " +
                          (request.tops.empty() ? std::string("data") : request.tops[0]) + "=3x227x227");
    }
    const std::string warning = std::string(error.what()) + ": zeros of " + text_of(shapes[0]) + " stand for it";
    if (tells_late_)
      opened_->warnings.insert(warning);
    else
      CORTADO_LOG(warning) << warning;
    return std::make_unique<ZeroSource>(shapes, 1, request.batch, 1, 0, group);
  }
}

}  // namespace cortado
