#include "core/net/recomputation.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/memory_error.h"
#include "core/net/passes/passes.h"

// Segments of layers that run forward once more before backward, so that what lies inside them needs memory one segment
// at a time. A segment is a run of layers with `recompute: true`, or was chosen for the net (NetOptions::recomputed).
//
//   layer      a --x--> b --y--> c --z--> loss        b and c with `recompute`: y shares memory with others' inside
//   forward      a b c loss
//   backward     loss, (b), c b a                     (b): forward again, from x, which is kept
//
// Layers in place belong to the layer whose top they work on, layers of passes to their neighbours.
namespace cortado {
namespace {

bool is_asked_for(const Net::Entry& entry) { return entry.layer->parameter().recompute(); }

/// For each layer, true if it runs again: by the text, and by what belongs to what.
std::vector<bool> marks_of(const NetGraph& graph) {
  const auto& layers = graph.layers;
  const auto is_named = [&](std::size_t i) { return graph.named.count(layers[i].layer->name()) != 0; };
  std::vector<bool> marks(layers.size());
  std::map<std::string, std::size_t> maker;  // by blob: who gave it the values that layers in place change
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Net::Entry& entry = layers[i];
    marks[i] = is_asked_for(entry);
    if (!is_named(i)) {
      std::size_t behind = i;
      while (behind + 1 < layers.size() && !is_named(behind)) ++behind;
      marks[i] = (i > 0 && marks[i - 1]) || is_asked_for(layers[behind]);
    }
    const bool in_place = !entry.bottom_names.empty() && !entry.top_names.empty() &&
                          entry.bottom_names[0] == entry.top_names[0] && maker.count(entry.top_names[0]) != 0;
    if (in_place) {
      const std::size_t by = maker.at(entry.top_names[0]);
      const bool keeps = entry.layer->kept_bottom(entry.bottom, entry.top) != nullptr;
      if (marks[i] && !marks[by] && !keeps)
        throw ConfigError("layer '" + entry.layer->name() + "'",
                          "cannot be recomputed: it works in place on '" + entry.top_names[0] + "', which layer '" +
                              layers[by].layer->name() + "' makes without `recompute`",
                          "give it to both or to neither, or give the top a name of its own");
      marks[i] = marks[by] || marks[i];
      if (!keeps) continue;
    }
    for (const auto& top : entry.top_names) maker[top] = i;
  }
  return marks;
}

std::vector<Segment> segments_of(const std::vector<bool>& marks) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i] && i > 0 && marks[i - 1])
      ++segments.back().end;
    else if (marks[i])
      segments.push_back({i, i + 1});
  return segments;
}

void check(const NetGraph& graph, const LayerValues& values, const Segment& segment) {
  require(segment.first < segment.end && segment.end <= graph.layers.size(), "a segment is of the net's layers");
  for (std::size_t i = segment.first; i < segment.end; ++i) {
    const Net::Entry& entry = graph.layers[i];
    if (entry.is_absorbed) continue;
    const std::string where = "layer '" + entry.layer->name() + "'";
    const std::string why = why_not_recomputed(entry);
    if (!why.empty()) throw ConfigError(where, "cannot be recomputed: " + why, "leave out its `recompute`");
    const LayerValues::Use& use = values.uses[i];
    for (const std::size_t other : {use.first, use.last})
      if (other < segment.first || other >= segment.end)
        throw ConfigError(where,
                          "cannot be recomputed without layer '" + graph.layers[other].layer->name() +
                              "': one of the two works in place on a blob that both of them use",
                          "give `recompute` to both and to all between them, or to neither");
  }
}

}  // namespace

void passes::recomputation(NetGraph& graph) {
  if (graph.text.state().phase() != caffe::TRAIN) return;
  std::vector<Segment> segments = segments_of(marks_of(graph));
  segments.insert(segments.end(), graph.options.recomputed.begin(), graph.options.recomputed.end());
  if (segments.empty()) return;
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.first < b.first; });
  const auto seen = graph.seen();
  const LayerValues values(graph.layers, seen);
  for (const Segment& segment : segments) check(graph, values, segment);
  const Recomputation all(*graph.options.group, graph.layers, seen, segments);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const std::string range =
        graph.layers[segments[s].first].layer->name() + " to " + graph.layers[segments[s].end - 1].layer->name();
    if (all.values_of(s) > 0) {
      graph.recomputed.push_back(segments[s]);
      graph.did(range + ": " + std::to_string(all.values_of(s)) + " arrays are made again");
    } else {
      CORTADO_LOG(warning) << "recompute from " << range << " frees no memory: other layers read what these make";
    }
  }
  if (!graph.recomputed.empty())
    graph.did(megabytes_text(static_cast<double>(all.inner_bytes())) + " of arrays lie in " +
              megabytes_text(static_cast<double>(all.shared_bytes())));
}

}  // namespace cortado
