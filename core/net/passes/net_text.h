#pragma once
#include <optional>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

// What text passes do to a net's text, for those who need no more of a net than that.
namespace cortado {

/// True if a net in `state` meets every condition of `rule`: phase, level range, all `stage`s and none of `not_stage`s.
bool meets(const caffe::NetState& state, const caffe::NetStateRule& rule);

/// The layers of `net` that belong to its state (pass `filter`). Throws ConfigError for a layer with both kinds of
/// rules.
caffe::NetParameter filter_layers(const caffe::NetParameter& net);

/// The net with Cast layers where precisions meet (pass `casts`).
caffe::NetParameter insert_casts(const caffe::NetParameter& net, const LayerTable& layers);

/// The net with Split layers behind blobs of several readers (pass `splits`). Throws ConfigError for a bottom that no
/// earlier layer makes.
caffe::NetParameter insert_splits(const caffe::NetParameter& net, const LayerTable& layers);

/// The layer that takes, of the bottom of the Split at `split`, the pixels that its readers read (pass `subsampling`);
/// readers and split are changed to work on these pixels alone. Nothing where the readers do not agree. For bottoms of
/// four axes.
std::optional<caffe::LayerParameter> share_subsampling(caffe::NetParameter& net, int split, const LayerTable& layers);

}  // namespace cortado
