#include "layers/batch_norm/batch_norm.h"

#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "layers/batch_norm/programs.h"
#include "layers/eltwise/sum_gradient.h"

namespace cortado {

bool BatchNormLayer::global() const {
  const auto& p = parameter().batch_norm_param();
  return p.has_use_global_stats() ? p.use_global_stats() : run().phase == Phase::test;
}

bool BatchNormLayer::synchronised() const { return parameter().batch_norm_param().synchronised() && run().ranks > 1; }

void BatchNormLayer::setup(const Blobs& bottom, const Blobs&) {
  const i64 channels = bottom[0]->axes() == 1 ? 1 : bottom[0]->dim(1);
  const caffe::FillerParameter zero;
  add_parameter({channels}, zero);
  add_parameter({channels}, zero);
  add_parameter({1}, zero);
  for (auto* place : {&mean_, &variance_}) *place = std::make_unique<Blob>(group(), Shape{channels});
  for (auto* place : {&sums_, &parts_, &identity_}) *place = std::make_unique<Blob>(group(), Shape{2, channels});
  std::vector<float> identity(static_cast<std::size_t>(2 * channels));
  std::fill_n(identity.begin(), channels, 1.0f);
  identity_->write_data(identity.data());
  kept_ = std::make_unique<Blob>(group());
}

void BatchNormLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const bool flat = bottom[0]->axes() == 1;
  shape_ = {bottom[0]->dim(0), flat ? 1 : bottom[0]->dim(1), flat ? 1 : bottom[0]->count(2), bottom[0]->layout()};
  if (shape_.channels != blobs()[0]->count())
    bad_shape("has statistics of " + std::to_string(blobs()[0]->count()) + " channels, the bottom has shape " +
              to_string(bottom[0]->shape()));
  top[0]->reshape_like(*bottom[0]);
  sums_of_maker_ = {!global(), nullptr, 0};
  kept_->reshape_like(*bottom[0]);
}

Traits BatchNormLayer::traits() {
  Traits traits;
  traits.sums = &sums_of_maker_;
  if (global() && !adds_) traits.fixed_map = epilogue::FixedMap{[this] { return fixed_map(); }, rectify_};
  return traits;
}

/// An affine map, then a sum, then a rectifier. A sum only with the batch's own statistics: backward then works through
/// the gradient twice, and can be given the sum's.
bool BatchNormLayer::accept(const Epilogue& work) {
  if (const auto* const affine = std::get_if<epilogue::ScaleAndBias>(&work)) {
    if (!affine->all_propagate || affine_ || adds_ || rectifies_ || affine->by.scale->count() != shape_.channels)
      return false;
    affine_ = affine->by;
    return true;
  }
  if (const auto* const rectifier = std::get_if<epilogue::Rectifier>(&work)) {
    if (!rectifier->all_propagate || rectifies_) return false;
    rectify_ = rectifier->by;
    return rectifies_ = true;
  }
  if (const auto* const sum = std::get_if<epilogue::Sum>(&work)) {
    if (adds_ || rectifies_ || global()) return false;
    rectify_.slope = sum->slope;
    rectifies_ = rectify_.slope != 1;
    return adds_ = true;
  }
  if (const auto* const gradients = std::get_if<epilogue::GradientSum>(&work)) return adds_ && gradients->count == 2;
  if (!std::holds_alternative<epilogue::JoinedGradient>(work)) return false;
  return is_joined_ = adds_;
}

const float* BatchNormLayer::scale() const { return affine_ ? affine_->scale->data() : identity_->data(); }

const float* BatchNormLayer::bias() const {
  return affine_ && affine_->bias != nullptr ? affine_->bias->data() : identity_->data() + shape_.channels;
}

/// Every rank's mean and variance become those of all ranks' batches together; returns how many values they are of.
double BatchNormLayer::share_statistics() {
  const double own = values();
  auto mean = mean_->data_vector(), variance = variance_->data_vector();
  std::vector<double> sums{own};
  for (const float m : mean) sums.push_back(own * m);
  run().replicas->sum(sums.data(), static_cast<i64>(sums.size()));
  const double values = sums[0];
  std::vector<double> squares;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    const double all = sums[k + 1] / values, off = mean[k] - all;
    squares.push_back(own * (variance[k] + off * off));
    mean[k] = static_cast<float>(all);
  }
  run().replicas->sum(squares.data(), static_cast<i64>(squares.size()));
  for (std::size_t k = 0; k < mean.size(); ++k) variance[k] = static_cast<float>(squares[k] / values);
  mean_->write_data(mean.data());
  variance_->write_data(variance.data());
  return values;
}

/// Books what there is per channel, a line of it, under the names given.
template <i64 block>
static void book_values(PlanBuilder& book, std::initializer_list<std::pair<Buf*, const char*>> values) {
  for (const auto& [buf, name] : values) *buf = book.line<float>(name, block, 1);
}

SumPlaces BatchNormLayer::places(float* first, float* second) {
  return {first, second, parts_->mutable_data(), {}, {}, {}};
}

/// Parts that leave `width` values where the pass measures, which all workers join as they apply them.
template <i64 block>
ChannelParts BatchNormLayer::parts_of(const ChannelLines<block>& lines, NormalisePass pass, i64 width) {
  ChannelParts parts;
  if (pass != NormalisePass::measure) parts.count = parts_of_channels(group().spec(), lines);
  if (parts.count == 1 || pass == NormalisePass::apply) return parts;
  const Shape shape{lines.groups, parts.count, width};
  if (channel_parts_ == nullptr) channel_parts_ = std::make_unique<Blob>(group());
  if (channel_parts_->shape() != shape) channel_parts_->reshape(shape);
  parts.width = width;
  parts.values = channel_parts_->mutable_data();
  return parts;
}

/// Both passes over parts are two programs: applying needs what all have measured.
template <class Program>
void BatchNormLayer::launch_passes(Program& p, const Plan& plan) {
  if (p.parts.count > 1 && p.pass == NormalisePass::both) {
    p.pass = NormalisePass::measure;
    group().launch(p, plan);
    p.pass = NormalisePass::apply;
  }
  group().launch(p, plan);
}

template <class T>
void BatchNormLayer::run_forward(const T* x, const T* added, T* y, NormalisePass pass, double values) {
  shape_.with_lines(group().spec(), 6, [&](auto lines) {
    constexpr i64 block = decltype(lines)::block;
    NormaliseForward<block, T> p{};
    p.s = lines;
    p.parts = parts_of(lines, pass, PieceSums<block, int>::values_of_moments);
    p.x = x, p.added = added, p.y = y;
    p.scale = scale(), p.bias = bias();
    p.moments = places(mean_->mutable_data(), variance_->mutable_data());
    p.sums = sums_of_maker_.first, p.sum_parts = sums_of_maker_.parts;
    p.running = {blobs()[0]->mutable_data(), blobs()[1]->mutable_data(), blobs()[2]->mutable_data(),
                 parameter().batch_norm_param().moving_average_fraction(),
                 static_cast<float>(values > 1 ? values / (values - 1) : 1)};
    p.eps = parameter().batch_norm_param().eps();
    p.rectify = rectify_;
    p.pass = pass;
    p.moves = !global() && !run().is_recomputing;
    PlanBuilder book(group().spec());
    p.x_buf = book.line<T>("x", lines.values(), Depth::two);
    if (added != nullptr) p.added_buf = book.line<T>("added", lines.values(), Depth::two);
    p.y_buf = book.line<T>("y", lines.values(), 1);
    book_values<block>(book, {{&p.scale_buf, "scale"},
                              {&p.bias_buf, "bias"},
                              {&p.moments.first_buf, "mean"},
                              {&p.moments.second_buf, "variance"},
                              {&p.running_mean_buf, "running mean"},
                              {&p.running_variance_buf, "running variance"},
                              {&p.weight_buf, "weight"}});
    if (block > 1) {
      p.moments.parts_buf = book.line<float>("parts", 2 * block, 1);
      p.sums_buf = book.line<float>("sums", 2 * block, Depth::two);
    }
    if (p.parts.count > 1) p.pivots_buf = book.line<float>("pivots", block, 1);
    if (p.parts.count > 1) p.parts.buf = book.line<float>("moments of parts", p.parts.width * p.parts.count, 1);
    launch_passes(p, book.plan(lines.groups * p.parts.count));
  });
}

template <class T>
void BatchNormLayer::run_backward(const T* x, const T* dy, T* dx, NormalisePass pass, double share) {
  shape_.with_lines(group().spec(), 6, [&](auto lines) {
    constexpr i64 block = decltype(lines)::block;
    NormaliseBackward<block, T> p{};
    p.s = lines;
    p.parts = parts_of(lines, pass, PieceSums<block, int>::values_of_sums);
    p.x = x, p.dy = dy, p.dx = dx;
    p.mean = mean_->data(), p.variance = variance_->data();
    p.scale = scale(), p.bias = bias();
    p.sums = places(sums_->mutable_data(), sums_->mutable_data() + shape_.channels);
    p.scale_diff = affine_ ? affine_->scale_gradient() : nullptr;
    p.bias_diff = affine_ ? affine_->bias_gradient() : nullptr;
    p.eps = parameter().batch_norm_param().eps();
    p.rectify = adds_ ? Rectify{} : rectify_;  // the sum's gradient has passed the rectifier
    p.share = static_cast<float>(share);
    p.pass = pass;
    PlanBuilder book(group().spec());
    p.x_buf = book.line<T>("x", lines.values(), Depth::two);
    p.dy_buf = book.line<T>("dy", lines.values(), Depth::two);
    p.dx_buf = book.line<T>("dx", lines.values(), 1);
    book_values<block>(book, {{&p.scale_buf, "scale"},
                              {&p.bias_buf, "bias"},
                              {&p.mean_buf, "mean"},
                              {&p.variance_buf, "variance"},
                              {&p.sums.first_buf, "sum of dy"},
                              {&p.sums.second_buf, "sum of dy y"},
                              {&p.scale_diff_buf, "gradient of scale"},
                              {&p.bias_diff_buf, "gradient of bias"}});
    if (block > 1) p.sums.parts_buf = book.line<float>("parts", 2 * block, 1);
    if (p.parts.count > 1) p.parts.buf = book.line<float>("sums of parts", p.parts.width * p.parts.count, 1);
    launch_passes(p, book.plan(lines.groups * p.parts.count));
  });
}

void BatchNormLayer::running_statistics() {
  elementwise(group(), shape_.channels, UseRunningStatistics{},
              from(blobs()[0]->data(), blobs()[1]->data(), one(blobs()[2]->data())),
              to(mean_->mutable_data(), variance_->mutable_data()));
}

epilogue::FixedMap::Values BatchNormLayer::fixed_map() {
  if (map_ == nullptr) map_ = std::make_unique<Blob>(group(), Shape{2, shape_.channels});
  const i64 version = run().parameter_version;
  float* const map = map_->mutable_data();
  if (version == 0 || map_version_ != version)
    elementwise(group(), shape_.channels, MapOfStatistics{parameter().batch_norm_param().eps()},
                from(blobs()[0]->data(), blobs()[1]->data(), scale(), bias(), one(blobs()[2]->data())),
                to(map, map + shape_.channels));
  map_version_ = version;
  return {map, map + shape_.channels};
}

/// Backward needs the bottom unless statistics are given and nothing is accepted: then the gradient does not depend on
/// it.
bool BatchNormLayer::keeps(const Blobs& bottom, const Blobs& top) const {
  return bottom[0] == top[0] && (!global() || affine_ || rectifies_);
}

/// In place, the bottom's values stay where they are for backward, and the top moves to other memory: not to that of
/// the last pass, if a Split above has given the bottom it again.
void BatchNormLayer::move_top(Blob& top) {
  if (kept_->shares_data(top)) {
    kept_ = std::make_unique<Blob>(group());
    kept_->reshape_like(top);
  }
  top.swap_data(*kept_);
}

void BatchNormLayer::forward(const Blobs& bottom, const Blobs& top) {
  if (keeps(bottom, top)) move_top(*top[0]);
  const Blob& from = keeps(bottom, top) ? *kept_ : *bottom[0];
  with_element(from.precision(), [&](auto element) {
    using T = decltype(element);
    const T* const x = from.data<T>();
    const T* const added = adds_ ? bottom[1]->data<T>() : nullptr;
    T* const y = top[0]->mutable_data<T>();
    if (global() || run().is_recomputing) {  // the moments of a pass are there until the next one
      if (global()) running_statistics();
      run_forward(x, added, y, NormalisePass::apply, values());
    } else if (synchronised()) {
      run_forward(x, added, y, NormalisePass::measure, values());
      run_forward(x, added, y, NormalisePass::apply, share_statistics());
    } else {
      run_forward(x, added, y, NormalisePass::both, values());
    }
  });
  sums_of_maker_.parts = 0;
}

/// Given statistics are constants, and the gradient then has no share in the sums over the batch. A sum's gradient is
/// made, or lies, where the other summand wants it.
void BatchNormLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  const Blob& from = keeps(bottom, top) ? *kept_ : *bottom[0];
  with_element(from.precision(), [&](auto element) {
    using T = decltype(element);
    if (adds_ && !is_joined_) gradient_of_sum<T>(group(), top, rectifies_, rectify_.slope, *bottom[1]);
    const T *const x = from.data<T>(), *const dy = (adds_ ? bottom[1] : top[0])->diff<T>();
    T* const dx = bottom[0]->mutable_diff<T>();
    if (global()) {
      run_backward(x, dy, dx, affine_ ? NormalisePass::both : NormalisePass::apply, 0);
    } else if (synchronised()) {
      run_backward(x, dy, dx, NormalisePass::measure, 0);
      run_backward(x, dy, dx, NormalisePass::apply, 1 / share_sums());
    } else {
      run_backward(x, dy, dx, NormalisePass::both, 1 / values());
    }
  });
}

/// Every rank's sums become those over all ranks; returns how many values they are of.
double BatchNormLayer::share_sums() {
  auto sums = sums_->data_vector();
  std::vector<double> all(sums.begin(), sums.end());
  all.push_back(values());
  run().replicas->sum(all.data(), static_cast<i64>(all.size()));
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = static_cast<float>(all[k]);
  sums_->write_data(sums.data());
  return all.back();
}

Layer::Cost BatchNormLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  if (adds_) return {10 * n, 16 * n, 12 * n, 24 * n};
  return {8 * n, 14 * n, 8 * n, 12 * n};
}

}  // namespace cortado
