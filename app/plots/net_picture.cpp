#include "app/plots/net_picture.h"

#include <algorithm>

#include "app/plots/net_layout.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
constexpr int most_columns = 8;
constexpr double box_width = 144, box_height = 62, across_gap = 18, lane_gap = 12, row_gap = 30, margin = 16;
constexpr std::size_t most_letters = 24, most_of_name = 18;

/// A type in few letters.
std::string short_type(const std::string& type) { return type == "BatchNorm" ? "BN" : type; }

/// "3×3", or "7×1".
template <class Parameter>
std::string window_text(const Parameter& p, int size) {
  if (p.kernel_h() > 0) return std::to_string(p.kernel_h()) + "×" + std::to_string(p.kernel_w());
  return size > 0 ? std::to_string(size) + "×" + std::to_string(size) : "";
}

std::string convolution_text(const caffe::ConvolutionParameter& p) {
  std::string text = window_text(p, p.kernel_size_size() > 0 ? static_cast<int>(p.kernel_size(0)) : 0);
  const int stride = p.stride_h() > 0      ? static_cast<int>(p.stride_h())
                     : p.stride_size() > 0 ? static_cast<int>(p.stride(0))
                                           : 1;
  if (stride > 1) text += "/" + std::to_string(stride);
  text += " → " + std::to_string(p.num_output());
  return p.group() > 1 ? text + ", " + std::to_string(p.group()) + " groups" : text;
}

std::string pooling_text(const caffe::PoolingParameter& p) {
  std::string text = p.pool() == caffe::PoolingParameter::AVE ? "mean" : "max";
  if (p.global_pooling()) return text + " of all";
  text += " " + window_text(p, static_cast<int>(p.kernel_size()));
  const auto stride = p.stride_h() > 0 ? p.stride_h() : p.stride();
  return stride > 1 ? text + "/" + std::to_string(stride) : text;
}

/// The type with the sizes that say most.
std::string type_text(const caffe::LayerParameter& layer) {
  if (layer.has_convolution_param())
    return (layer.type() == "Convolution" ? "conv" : layer.type()) + " " + convolution_text(layer.convolution_param());
  if (layer.has_pooling_param()) return pooling_text(layer.pooling_param());
  if (layer.has_inner_product_param())
    return layer.type() + " → " + std::to_string(layer.inner_product_param().num_output());
  return layer.type();
}

const char* kind_class(const caffe::LayerParameter& layer) {
  static const std::map<std::string, const char*> kinds = {
      {"Convolution", "conv"}, {"Deconvolution", "conv"}, {"InnerProduct", "full"}, {"Pooling", "pool"},
      {"BatchNorm", "norm"},   {"Scale", "norm"},         {"LRN", "norm"},          {"Accuracy", "loss"}};
  const auto found = kinds.find(layer.type());
  if (found != kinds.end()) return found->second;
  if (layer.type().find("Loss") != std::string::npos) return "loss";
  return layer.bottom_size() == 0 ? "data" : "other";
}

class NetPicture {
 public:
  NetPicture(const caffe::NetParameter& net, const PictureFacts& facts)
      : net_(net), facts_(facts), boxes_(layout_of(net)) {
    for (const NetBox& box : boxes_) columns_ = std::max(columns_, std::min(most_columns, box.depth + 1));
    for (const NetBox& box : boxes_) {
      const auto row = static_cast<std::size_t>(box.depth / columns_);
      if (lanes_.size() <= row) lanes_.resize(row + 1, 1);
      lanes_[row] = std::max(lanes_[row], box.lane + 1);
    }
    double y = margin;
    for (const int lanes : lanes_) {
      tops_.push_back(y);
      y += lanes * (box_height + lane_gap) - lane_gap + row_gap;
    }
    height_ = y - row_gap + margin;
    width_ = columns_ * (box_width + across_gap) - across_gap + 2 * margin;
  }

  std::string svg() {
    text_ = "<svg class=\"net\" viewBox=\"0 0 " + place(width_) + " " + place(height_) +
            "\" style=\"max-width:" + place(width_ * 1.15) + "px\" role=\"img\"><title>" + xml_text(net_.name()) +
            "</title><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
            "markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";
    for (const NetBox& box : boxes_)
      for (const std::size_t from : box.from) edge(boxes_[from], box);
    for (const NetBox& box : boxes_)
      if (!box.layers.empty()) draw(box);
    return text_ + "</svg>\n";
  }

 private:
  double left_of(const NetBox& box) const { return margin + box.depth % columns_ * (box_width + across_gap); }
  double top_of(const NetBox& box) const {
    return tops_[static_cast<std::size_t>(box.depth / columns_)] + box.lane * (box_height + lane_gap);
  }
  double middle_of(const NetBox& box) const { return top_of(box) + box_height / 2; }

  /// From the right side of one to the left side of the other; to the next row through the room between rows.
  void edge(const NetBox& from, const NetBox& to) {
    const double x = left_of(from) + box_width, y = middle_of(from), end_x = left_of(to), end_y = middle_of(to);
    const double half = across_gap / 2;
    std::string path = "M" + place(x) + " " + place(y);
    if (from.depth / columns_ == to.depth / columns_) {
      path += y == end_y ? "H" + place(end_x)
                         : "C" + place(x + half) + " " + place(y) + " " + place(end_x - half) + " " + place(end_y) +
                               " " + place(end_x) + " " + place(end_y);
    } else {
      const double between =
          tops_[static_cast<std::size_t>(to.depth / columns_)] - row_gap / 2 - 5 * (from.lane % 3) + 4;
      const double out = 8 - 3 * (from.lane % 3), in = 8 - 3 * (to.lane % 3);
      path +=
          "h" + place(out) + "V" + place(between) + "H" + place(end_x - in) + "V" + place(end_y) + "H" + place(end_x);
    }
    if (to.layers.empty()) path += "M" + place(end_x) + " " + place(end_y) + "h" + place(box_width);
    text_ +=
        "<path class=\"edge\" d=\"" + path + "\"" + (to.layers.empty() ? "" : " marker-end=\"url(#tip)\"") + "/>\n";
  }

  void line(const NetBox& box, int row, const char* look, const std::string& text) {
    text_ += "<text class=\"" + std::string(look) + "\" x=\"" + place(left_of(box) + 7) + "\" y=\"" +
             place(top_of(box) + 14 + 14 * row) + "\">" + xml_text(text) + "</text>";
  }

  void draw(const NetBox& box) {
    const caffe::LayerParameter& first = *box.layers[0];
    double parameters = 0;
    bool learns = false;
    std::string in_place, all;
    for (const auto* layer : box.layers) {
      const auto count = facts_.parameters.find(layer->name());
      const bool has_some = count != facts_.parameters.end();
      if (has_some) parameters += static_cast<double>(count->second);
      learns = learns || (has_some && facts_.frozen.count(layer->name()) == 0);
      if (layer != &first) in_place += (in_place.empty() ? "+ " : ", ") + short_type(layer->type());
      all += layer->name() + ": " + type_text(*layer) +
             (has_some ? ", " + std::to_string(count->second) + " parameters" : "") + "\n";
    }
    for (const auto& note : box.notes) in_place += (in_place.empty() ? "← " : " ← ") + note;
    const bool frozen = parameters > 0 && !learns;
    text_ += "<g class=\"box " + std::string(kind_class(first)) + (frozen ? " frozen" : "") + "\" data-layers=\"" +
             std::to_string(box.layers.size()) + "\"><rect x=\"" + place(left_of(box)) + "\" y=\"" +
             place(top_of(box)) + "\" width=\"" + place(box_width) + "\" height=\"" + place(box_height) +
             "\" rx=\"5\"/><title>" + xml_lines(all) + (frozen ? "frozen" : "") + "</title>";
    line(box, 0, "name", without_middle(first.name(), most_of_name));
    line(box, 1, "small", without_middle(type_text(first), most_letters));
    if (!in_place.empty()) line(box, 2, "small", without_middle(in_place, most_letters));
    const std::string shape = shape_of(first);
    if (!shape.empty()) line(box, 3, "small dim", shape);
    if (parameters > 0)
      text_ += "<text class=\"small count\" x=\"" + place(left_of(box) + box_width - 7) + "\" y=\"" +
               place(top_of(box) + 56) + "\">" + (frozen ? "frozen " : "") + count_text(parameters) + "</text>";
    text_ += "</g>\n";
  }

  /// Of a sample: without the batch.
  std::string shape_of(const caffe::LayerParameter& layer) const {
    const auto found = layer.top_size() == 0 ? facts_.shapes.end() : facts_.shapes.find(layer.top(0));
    std::string text;
    if (found == facts_.shapes.end()) return text;
    for (std::size_t i = 1; i < found->second.size(); ++i)
      text += (i == 1 ? "" : "×") + std::to_string(found->second[i]);
    return text;
  }

  const caffe::NetParameter& net_;
  const PictureFacts& facts_;
  const std::vector<NetBox> boxes_;
  int columns_ = 1;
  std::vector<int> lanes_;    // by row
  std::vector<double> tops_;  // by row
  double width_ = 0, height_ = 0;
  std::string text_;
};
}  // namespace

std::string net_picture(const caffe::NetParameter& net, const PictureFacts& facts) {
  return NetPicture(net, facts).svg();
}

}  // namespace cortado
