#include "layers/all_layers.h"

#include "layers/batch_norm/batch_norm.h"

namespace cortado {

// add_NAME adds the types whose classes stand in layers/NAME.
using Adds = void(LayerTable&);
Adds add_accuracy, add_arg_max, add_axpy, add_batch_reindex, add_bias, add_cast, add_concat, add_contrastive_loss,
    add_convolution, add_crop, add_data, add_deconvolution, add_depthwise_convolution, add_dropout, add_dummy_data,
    add_elementwise, add_eltwise, add_embed, add_euclidean_loss, add_filter, add_hdf5_data, add_hdf5_output, add_im2col,
    add_image_data, add_infogain_loss, add_inner_product, add_input, add_interp, add_label_loss, add_lrn, add_lstm_unit,
    add_memory_data, add_mvn, add_normalize, add_parameter, add_permute, add_pooling, add_prelu, add_prior_box,
    add_recurrent, add_reduction, add_relu, add_reorder, add_reshape, add_scale, add_shuffle_channel,
    add_sigmoid_cross_entropy_loss, add_silence, add_slice, add_softmax, add_softmax_loss, add_split, add_spp, add_tile,
    add_upsample, add_window_data;

LayerTable all_layers() {
  LayerTable table;
  add_accuracy(table);
  add_arg_max(table);
  add_axpy(table);
  add_batch_reindex(table);
  add_bias(table);
  add_cast(table);
  add_concat(table);
  add_contrastive_loss(table);
  add_convolution(table);
  add_crop(table);
  add_data(table);
  add_deconvolution(table);
  add_depthwise_convolution(table);
  add_dropout(table);
  add_dummy_data(table);
  add_elementwise(table);
  add_eltwise(table);
  add_embed(table);
  add_euclidean_loss(table);
  add_filter(table);
  add_hdf5_data(table);
  add_hdf5_output(table);
  add_im2col(table);
  add_image_data(table);
  add_infogain_loss(table);
  add_inner_product(table);
  add_input(table);
  add_interp(table);
  add_label_loss(table);
  add_lrn(table);
  add_lstm_unit(table);
  add_memory_data(table);
  add_mvn(table);
  add_normalize(table);
  add_parameter(table);
  add_permute(table);
  add_pooling(table);
  add_prelu(table);
  add_prior_box(table);
  add_recurrent(table);
  add_reduction(table);
  add_relu(table);
  add_reorder(table);
  add_reshape(table);
  add_scale(table);
  add_shuffle_channel(table);
  add_sigmoid_cross_entropy_loss(table);
  add_silence(table);
  add_slice(table);
  add_softmax(table);
  add_softmax_loss(table);
  add_split(table);
  add_spp(table);
  add_tile(table);
  add_upsample(table);
  add_window_data(table);
  table.add<BatchNormLayer>("BatchNorm");
  return table;
}

}  // namespace cortado
