#pragma once
#include "core/formats/caffe.pb.h"

namespace cortado {

/// Whether a net in `state` meets every condition of `rule`: phase, level range, all `stage`s and none of `not_stage`s.
bool meets(const caffe::NetState& state, const caffe::NetStateRule& rule);

/// The layers of `net` that belong to its state: those without rules, those that meet an `include`, those that meet
/// no `exclude`. Throws ConfigError for a layer with both kinds.
caffe::NetParameter filter_layers(const caffe::NetParameter& net);

/// The net with a Split layer behind every top that feeds several bottoms, or a bottom and the loss, so that each blob
/// has one consumer. Names are Caffe's: layer BLOB_LAYER_INDEX_split, blobs BLOB_LAYER_INDEX_split_K. Throws
/// ConfigError for a bottom that no earlier layer makes.
caffe::NetParameter insert_splits(const caffe::NetParameter& net);

}  // namespace cortado
