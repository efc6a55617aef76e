#pragma once
#include "app/session/session.h"
#include "core/tuner/tuning_table.h"

namespace cortado {

/// The cost of layouts in a net. A layer's time counts for the shapes of the blobs around it, in equal shares. So it
/// includes changes of layout, and gains and losses of layers around convolutions.
struct LayoutTimes {
  struct Row {
    std::string shape;              ///< layout_key of tops of convolutions
    double planes = 0, blocks = 0;  ///< seconds of an iteration
    Layout chosen = Layout::nchw;
  };
  std::vector<Row> rows;
  double planes = 0, blocks = 0;  ///< seconds of whole iterations in one layout
  double mixed = 0;               ///< with the better layout for every shape; 0 means that one layout is better for all
};

/// Makes the net with all tops of convolutions in planes, or all that can be in blocks of channels.
std::unique_ptr<Net> net_in(const Session& session, const caffe::NetParameter& parameter, Layout layout);
/// True if any top is in blocks.
bool has_blocks(const Net& net);

/// Runs both nets, with their present candidates, `rounds` times by turns, and chooses a layout for every shape. Then
/// it runs the net with that choice too, and adds the layouts of the fastest of the three to the table.
LayoutTimes tune_layouts(const Session& session, const caffe::NetParameter& parameter, Net& planes, Net& blocks,
                         i64 rounds, TuningTable& table);

}  // namespace cortado
