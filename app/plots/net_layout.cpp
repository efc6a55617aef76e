#include "app/plots/net_layout.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace cortado {
namespace {
constexpr int longest_edge = 24;  // in depths

bool is_in_place(const caffe::LayerParameter& layer) {
  if (layer.bottom_size() == 0 || layer.top_size() == 0) return false;
  return std::all_of(layer.top().begin(), layer.top().end(), [&](const std::string& top) {
    return std::find(layer.bottom().begin(), layer.bottom().end(), top) != layer.bottom().end();
  });
}

class NetLayout {
 public:
  explicit NetLayout(const caffe::NetParameter& net) {
    for (const auto& layer : net.layer()) add(layer);
    find_depths();
    make_passages();
    order();
  }
  std::vector<NetBox> take() { return std::move(boxes_); }

 private:
  void add(const caffe::LayerParameter& layer) {
    if (is_in_place(layer) && makers_.count(layer.bottom(0)) > 0) {
      boxes_[makers_[layer.bottom(0)]].layers.push_back(&layer);
      return;
    }
    NetBox box;
    box.layers = {&layer};
    for (const auto& bottom : layer.bottom()) {
      const auto maker = makers_.find(bottom);
      if (maker == makers_.end()) continue;
      const caffe::LayerParameter& made_by = *boxes_[maker->second].layers[0];
      if (made_by.bottom_size() == 0 && made_by.top(0) != bottom)
        box.notes.push_back(bottom);
      else if (std::find(box.from.begin(), box.from.end(), maker->second) == box.from.end())
        box.from.push_back(maker->second);
    }
    for (const auto& top : layer.top()) makers_[top] = boxes_.size();
    boxes_.push_back(std::move(box));
  }

  /// Boxes without bottoms stand just before the first that reads them.
  void find_depths() {
    for (NetBox& box : boxes_)
      for (const std::size_t from : box.from) box.depth = std::max(box.depth, boxes_[from].depth + 1);
    std::map<std::size_t, int> read_at;
    for (const NetBox& box : boxes_)
      for (const std::size_t from : box.from) {
        const auto [found, is_new] = read_at.emplace(from, box.depth);
        if (!is_new) found->second = std::min(found->second, box.depth);
      }
    for (const auto& [box, depth] : read_at)
      if (boxes_[box].from.empty()) boxes_[box].depth = depth - 1;
  }

  void make_passages() {
    const std::size_t count = boxes_.size();
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::size_t> from;
      for (std::size_t maker : std::vector<std::size_t>(boxes_[i].from)) {
        const int depth = boxes_[i].depth;
        if (depth - boxes_[maker].depth > longest_edge) {
          boxes_[i].notes.push_back(boxes_[maker].layers.back()->name());
          continue;
        }
        for (int at = boxes_[maker].depth + 1; at < depth; ++at) {
          NetBox passage;
          passage.from = {maker};
          passage.depth = at;
          maker = boxes_.size();
          boxes_.push_back(std::move(passage));
        }
        from.push_back(maker);
      }
      boxes_[i].from = std::move(from);
    }
  }

  /// Boxes of a depth stand in the order of what they read, so that few edges cross.
  void order() {
    int deepest = 0;
    for (const NetBox& box : boxes_) deepest = std::max(deepest, box.depth);
    std::vector<std::vector<std::size_t>> by_depth(static_cast<std::size_t>(deepest) + 1);
    for (std::size_t i = 0; i < boxes_.size(); ++i) by_depth[static_cast<std::size_t>(boxes_[i].depth)].push_back(i);
    for (auto& boxes : by_depth) {
      const auto mean = [&](std::size_t i) {
        const auto& from = boxes_[i].from;
        double sum = 0;
        for (const std::size_t maker : from) sum += boxes_[maker].lane;
        return from.empty() ? 0 : sum / static_cast<double>(from.size());
      };
      const auto is_passage = [&](std::size_t i) { return boxes_[i].layers.empty(); };
      std::stable_sort(boxes.begin(), boxes.end(), [&](std::size_t a, std::size_t b) {
        return mean(a) != mean(b) ? mean(a) < mean(b) : is_passage(a) < is_passage(b);
      });
      for (std::size_t lane = 0; lane < boxes.size(); ++lane) boxes_[boxes[lane]].lane = static_cast<int>(lane);
    }
  }

  std::vector<NetBox> boxes_;
  std::map<std::string, std::size_t> makers_;  // by blob
};
}  // namespace

std::vector<NetBox> layout_of(const caffe::NetParameter& net) { return NetLayout(net).take(); }

}  // namespace cortado
