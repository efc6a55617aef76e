#include <algorithm>

#include "core/base/error.h"
#include "core/net/net.h"

// How a net follows shapes that change from pass to pass.
namespace cortado {
namespace {

/// A net has copies in planes where the images that it was built for need them. An image of one pixel lies in both
/// layouts, and larger images may not fit a layer's scratchpad in blocks.
void check_layouts(const Net::Entry& entry) {
  const auto in_blocks = [](const Blob* bottom) { return bottom->layout() == Layout::nchw16c; };
  if (std::none_of(entry.bottom.begin(), entry.bottom.end(), in_blocks)) return;
  if (lie_in_blocks(entry.bottom) && entry.layer->keeps_blocks(entry.bottom)) return;
  for (std::size_t i = 0; i < entry.bottom.size(); ++i)
    if (in_blocks(entry.bottom[i]) && !entry.layer->uses_shape_only(i))
      throw ShapeError("layer '" + entry.layer->name() + "'",
                       "was built for a smaller bottom '" + entry.bottom_names[i] + "' than one of shape " +
                           to_string(entry.bottom[i]->shape()),
                       "begin with the largest sample, or give --without layouts");
}

}  // namespace

void Net::shape(Entry& entry) {
  // Before: a layer in place shapes its own bottom.
  entry.shaped_for.resize(entry.bottom.size());
  for (std::size_t i = 0; i < entry.bottom.size(); ++i) entry.shaped_for[i] = entry.bottom[i]->shape();
  entry.layer->reshape(entry.bottom, entry.top);
}

/// Reshapes the layer if its bottoms have other shapes than before.
void Net::follow_shapes(Entry& entry) {
  const auto same = [](const Shape& before, const Blob* bottom) { return before == bottom->shape(); };
  if (std::equal(entry.shaped_for.begin(), entry.shaped_for.end(), entry.bottom.begin(), entry.bottom.end(), same))
    return;
  check_layouts(entry);
  const std::string where = "layer '" + entry.layer->name() + "'";
  const std::vector<Shape> before = entry.shaped_for;
  try {
    try {
      shape(entry);
    } catch (const PlanError&) {  // a plan that was asked for other shapes
      entry.layer->choose_plans({});
      shape(entry);
    }
  } catch (const ShapeError& error) {
    entry.shaped_for = before;
    std::string change;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] != entry.bottom[i]->shape())
        change += "; bottom '" + entry.bottom_names[i] + "' had shape " + to_string(before[i]) + " before, now " +
                  to_string(entry.bottom[i]->shape());
    const std::string what = error.what();
    throw ShapeError(what.find(where) == std::string::npos ? where : "", what + change,
                     "make samples of one shape (crop_size, new_height and new_width), or use layers that take any");
  }
  gradients_placed_ = false;
  weigh_losses(entry);
}

}  // namespace cortado
