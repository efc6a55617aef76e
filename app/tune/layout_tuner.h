#pragma once
#include "app/session/session.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// What layouts cost a net. A layer's time counts for the shapes of blobs that it stands between, in equal shares: so
/// changes of layout, and what layers around convolutions gain or lose, are in it.
struct LayoutTimes {
  struct Row {
    std::string shape;              ///< layout_key of tops of convolutions
    double planes = 0, blocks = 0;  ///< seconds of an iteration
    Layout chosen = Layout::nchw;
  };
  std::vector<Row> rows;
  double planes = 0, blocks = 0;  ///< seconds of whole iterations in one layout
  double mixed = 0;               ///< with the better layout for every shape; 0: that is one for all
};

/// The net with all tops of convolutions in planes, or all that can be in blocks of channels.
std::unique_ptr<Net> net_in(const Session& session, const caffe::NetParameter& parameter, Layout layout);
/// Whether any top is in blocks.
bool has_blocks(const Net& net);

/// Runs both nets, with the candidates they use now, `rounds` times by turns, chooses a layout for every shape, runs
/// the net with that choice too, and adds the layouts of the fastest of the three to the table.
LayoutTimes tune_layouts(const Session& session, const caffe::NetParameter& parameter, Net& planes, Net& blocks,
                         i64 rounds, TuningTable& table);

}  // namespace cortado
