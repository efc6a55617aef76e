#include "parallel_io/convert/digits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/random.h"

namespace cortado {
namespace {

struct Point {
  float x, y;
};
using Stroke = std::vector<Point>;
constexpr int size = 28;

/// The digits as pen strokes in the unit square, x to the right, y down.
const std::vector<Stroke>& strokes_of(int digit) {
  static const std::vector<std::vector<Stroke>> all = {
      {{{.5f, .1f},
        {.31f, .18f},
        {.23f, .38f},
        {.22f, .6f},
        {.3f, .82f},
        {.5f, .9f},
        {.69f, .82f},
        {.78f, .6f},
        {.77f, .38f},
        {.69f, .18f},
        {.5f, .1f}}},
      {{{.34f, .27f}, {.54f, .1f}, {.53f, .5f}, {.54f, .9f}}},
      {{{.25f, .3f},
        {.32f, .15f},
        {.5f, .1f},
        {.69f, .17f},
        {.73f, .33f},
        {.6f, .53f},
        {.41f, .71f},
        {.25f, .9f},
        {.52f, .88f},
        {.78f, .9f}}},
      {{{.27f, .16f},
        {.49f, .1f},
        {.69f, .2f},
        {.67f, .38f},
        {.46f, .48f},
        {.69f, .57f},
        {.74f, .76f},
        {.55f, .9f},
        {.26f, .85f}}},
      {{{.55f, .1f}, {.38f, .38f}, {.22f, .63f}, {.5f, .62f}, {.81f, .62f}}, {{.63f, .4f}, {.62f, .65f}, {.61f, .91f}}},
      {{{.73f, .1f},
        {.52f, .11f},
        {.32f, .1f},
        {.29f, .45f},
        {.5f, .41f},
        {.7f, .5f},
        {.74f, .69f},
        {.58f, .88f},
        {.27f, .86f}}},
      {{{.66f, .11f},
        {.42f, .27f},
        {.28f, .54f},
        {.3f, .78f},
        {.5f, .9f},
        {.7f, .79f},
        {.69f, .59f},
        {.5f, .5f},
        {.31f, .62f}}},
      {{{.24f, .11f}, {.5f, .1f}, {.76f, .1f}, {.6f, .45f}, {.46f, .9f}}},
      {{{.5f, .48f},
        {.31f, .36f},
        {.32f, .18f},
        {.5f, .1f},
        {.68f, .18f},
        {.69f, .36f},
        {.5f, .48f},
        {.28f, .63f},
        {.28f, .81f},
        {.5f, .9f},
        {.72f, .81f},
        {.72f, .63f},
        {.5f, .48f}}},
      {{{.7f, .4f},
        {.5f, .5f},
        {.32f, .4f},
        {.31f, .2f},
        {.5f, .1f},
        {.69f, .2f},
        {.7f, .42f},
        {.66f, .68f},
        {.52f, .9f}}},
  };
  return all[static_cast<std::size_t>(digit)];
}

/// The random numbers of one sample, drawn one after another.
class Dice {
 public:
  explicit Dice(std::uint64_t key) : key_(key) {}
  float between(float low, float high) { return low + (high - low) * random_uniform(key_, next_++); }
  /// Near normal with standard deviation 1: the sum of twelve uniform numbers.
  float normal() {
    float sum = -6;
    for (int i = 0; i < 12; ++i) sum += between(0, 1);
    return sum;
  }

 private:
  std::uint64_t key_, next_ = 0;
};

float distance_to_segment(Point p, Point a, Point b) {
  const float dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const float t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0f, 1.0f) : 0.0f;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/// A grey canvas with anti-aliased pens.
class Canvas {
 public:
  void draw(const Stroke& stroke, float pen, float ink) {
    for (int y = 0; y < size; ++y)
      for (int x = 0; x < size; ++x) {
        float nearest = 1e9f;
        for (std::size_t i = 0; i + 1 < stroke.size(); ++i)
          nearest = std::min(
              nearest, distance_to_segment({static_cast<float>(x), static_cast<float>(y)}, stroke[i], stroke[i + 1]));
        float& value = values_[y * size + x];
        value = std::max(value, ink * std::clamp(pen - nearest + 0.5f, 0.0f, 1.0f));
      }
  }
  void noise(Dice& dice, float strength) {
    for (float& value : values_) value += strength * dice.normal();
  }
  Image image() const {
    Image result{1, size, size, {}};
    for (const float value : values_)
      result.values.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0f, 1.0f))));
    return result;
  }

 private:
  float values_[size * size] = {};
};

/// From the unit square to pixels: turned, sheared, scaled, shifted.
class Affine {
 public:
  explicit Affine(Dice& dice) {
    const float angle = dice.between(-0.45f, 0.45f), shear = dice.between(-0.35f, 0.35f);
    const float wide = dice.between(13, 24), high = dice.between(16, 25);
    const float c = std::cos(angle), s = std::sin(angle);
    xx_ = c * wide, xy_ = c * shear * high - s * high, yx_ = s * wide, yy_ = s * shear * high + c * high;
    x0_ = size / 2.0f - 0.5f + dice.between(-3.5f, 3.5f), y0_ = size / 2.0f - 0.5f + dice.between(-3, 3);
  }
  Point operator()(Point p) const {
    const float x = p.x - 0.5f, y = p.y - 0.5f;
    return {x0_ + xx_ * x + xy_ * y, y0_ + yx_ * x + yy_ * y};
  }

 private:
  float xx_, xy_, yx_, yy_, x0_, y0_;
};

}  // namespace

Image draw_digit(std::uint64_t seed, i64 number) {
  Dice dice(random_bits(seed, static_cast<std::uint64_t>(number)));
  const Affine to_pixels(dice);
  const float pen = dice.between(0.5f, 1.6f), ink = dice.between(0.55f, 1);
  Canvas canvas;
  for (const Stroke& stroke : strokes_of(digit_label(number))) {
    Stroke moved;
    for (const Point p : stroke)
      moved.push_back(to_pixels({p.x + 0.035f * dice.normal(), p.y + 0.035f * dice.normal()}));
    canvas.draw(moved, pen, ink);
  }
  // Stray lines at the rim and specks anywhere, so that single pixels say little.
  for (int i = 0; i < 2; ++i) {
    const Point at{dice.between(0, size),
                   dice.between(0, 1) < 0.5f ? dice.between(0, 4) : dice.between(size - 5, size)};
    canvas.draw({at, {at.x + dice.between(-6, 6), at.y + dice.between(-3, 3)}}, 0.5f, dice.between(0.3f, 0.9f));
  }
  for (int i = 0; i < 5; ++i) {
    const Point at{dice.between(0, size), dice.between(0, size)};
    canvas.draw({at, at}, dice.between(0.2f, 0.8f), dice.between(0.3f, 1));
  }
  canvas.noise(dice, 0.12f);
  return canvas.image();
}

DigitSet::DigitSet(std::uint64_t seed, i64 first, i64 count) : seed_(seed), first_(first) {
  samples_ = count;
  fields_ = {{"data", {1, 28, 28}, Stored::uint8}, {"label", {}, Stored::float32}};
}

void DigitSet::read(const i64* indices, i64 count, std::vector<Values>& to) const {
  to.resize(2);
  to[0].bytes.clear();
  to[1].bytes.resize(static_cast<std::size_t>(count) * sizeof(float));
  for (i64 i = 0; i < count; ++i) {
    const auto pixels = draw_digit(seed_, first_ + indices[i]).values;
    to[0].bytes.insert(to[0].bytes.end(), pixels.begin(), pixels.end());
    const auto label = static_cast<float>(digit_label(first_ + indices[i]));
    std::memcpy(to[1].bytes.data() + i * 4, &label, 4);
  }
}

}  // namespace cortado
