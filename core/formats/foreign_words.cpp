#include "core/formats/foreign_words.h"

#include <map>

namespace cortado {
namespace {
ForeignWord ignored() { return {true, ""}; }
ForeignWord write(const std::string& advice) { return {false, "write " + advice}; }

const ForeignWord scale_layer = write("a Scale layer behind it: scale_param { bias_term: true }, with its fillers");

/// The known words by "block.field", or ".field" for every block. They are of NVIDIA/caffe, intel/caffe, SSD, DeepLab,
/// SegNet, Ristretto and others.
const std::map<std::string, ForeignWord>& words() {
  static const std::map<std::string, ForeignWord> all = {
      // Which library computes.
      {".engine", ignored()},
      {".cudnn_math_override", ignored()},
      {".conv_algos_override", ignored()},
      {".default_conv_algos_override", ignored()},
      {".default_cudnn_math_override", ignored()},
      {"data_param.threads", ignored()},
      {"data_param.parser_threads", ignored()},
      {"data_param.cache", ignored()},
      {"image_data_param.threads", ignored()},
      {"image_data_param.cache", ignored()},
      {"image_data_param.dup_factor", ignored()},
      {"transform_param.use_gpu_transform", ignored()},
      {"layer.use_gpu_transform", ignored()},
      {"layer.debug", ignored()},
      {".bn_stats_batch_size", ignored()},
      {"NetParameter.reduce_buckets", ignored()},
      {"NetParameter.bn_stats_batch_size", ignored()},
      {"NetParameter.engine", ignored()},
      {"NetParameter.compile_net_state", ignored()},
      {"SolverParameter.store_blobs_in_old_format", ignored()},
      {"SolverParameter.local_gw_ratio", ignored()},
      {"SolverParameter.disabled_update", ignored()},
      // Precision.
      {".forward_type", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".backward_type", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".forward_math", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".backward_math", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".default_forward_type", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".default_backward_type", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".default_forward_math", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".default_backward_math", write("precision: BF16 in the solver for mixed precision, or nothing")},
      {".solver_data_type", write("nothing: updates are in single precision")},
      {".global_grad_scale", write("loss_scale in the solver")},
      {".global_grad_scale_adaptive", write("loss_scale in the solver")},
      {"layer.quantization_param", write("nothing: values are not quantised here")},
      // Normalisation.
      {"batch_norm_param.scale_bias", scale_layer},
      {"batch_norm_param.scale_filler", scale_layer},
      {"batch_norm_param.bias_filler", scale_layer},
      {"batch_norm_param.slope_filler", scale_layer},
      {"batch_norm_param.use_weight", scale_layer},
      {"batch_norm_param.use_bias", scale_layer},
      {"batch_norm_param.use_alpha_beta", scale_layer},
      {"batch_norm_param.frozen", write("use_global_stats: true")},
      {"batch_norm_param.update_global_stats", write("use_global_stats: true where statistics shall not change")},
      {"batch_norm_param.momentum", write("moving_average_fraction")},
      {"batch_norm_param.decay", write("moving_average_fraction")},
      {"layer.bn_param", write("type: \"BatchNorm\" with batch_norm_param, and a Scale layer behind it")},
      {"layer.cudnn_batch_norm_param", write("batch_norm_param")},
      // Layers that are written in another way.
      {"layer.interp_param", write("a Deconvolution with a bilinear filler, and Crop behind it")},
      {"layer.upsample_param", write("a Deconvolution with a bilinear filler")},
      {"layer.relu6_param", write("ReLU and, behind it, Clip with clip_param { min: 0 max: 6 }")},
      {"layer.seg_accuracy_param", write("Accuracy with accuracy_param { axis: 1 ignore_label: ... }")},
      {"layer.dense_image_data_param",
       write("two Data layers, or image_data_param with a list that names label images")},
      {"layer.image_seg_data_param", write("two Data layers, for images and for labels")},
      {"layer.annotated_data_param", write("data_param: boxes are not read here")},
      {"pooling_param.ceil", write("round_mode: CEIL or FLOOR")},
      {"pooling_param.round_type", write("round_mode: CEIL or FLOOR")},
      {"pooling_param.rounding", write("round_mode: CEIL or FLOOR")},
      {"pooling_param.dilation", write("a convolution with dilation: pooling has none")},
      {"convolution_param.dilation_h", write("dilation twice: height, then width")},
      {"convolution_param.dilation_w", write("dilation twice: height, then width")},
      {"convolution_param.hole_size", write("dilation")},
      {"convolution_param.pad_type", write("pad: it pads with zeros")},
      {"inner_product_param.normalize", write("nothing: weights are not normalised here")},
      {"loss_param.label_smooth", write("InfogainLoss with a matrix of 1 - e and e / (classes - 1)")},
      {"loss_param.label_smoothing", write("InfogainLoss with a matrix of 1 - e and e / (classes - 1)")},
      {"softmax_param.label_smooth", write("InfogainLoss with a matrix of 1 - e and e / (classes - 1)")},
      {"loss_param.weight_by_label_freqs", write("InfogainLoss with the classes' weights on its matrix's diagonal")},
      {"loss_param.class_weighting", write("InfogainLoss with the classes' weights on its matrix's diagonal")},
      {"loss_param.class_weight", write("InfogainLoss with the classes' weights on its matrix's diagonal")},
      // Data.
      {"transform_param.resize_param",
       write("new_height and new_width in image_data_param, or resize when converting")},
      {"transform_param.distort_param", write("nothing: colours are not distorted here")},
      {"transform_param.expand_param", write("nothing: images are not expanded here")},
      {"transform_param.noise_param", write("nothing: no noise is added here")},
      {"transform_param.emit_constraint", write("nothing: boxes are not read here")},
      {"transform_param.random_seed", write("random_seed in the solver")},
      {"transform_param.rotation_angle", write("nothing: images are not rotated here")},
      {"transform_param.multi_scale", write("nothing: one scale is read")},
      {"transform_param.scale_ratios", write("nothing: one scale is read")},
      {"image_data_param.label_divide_factor", write("the labels divided, in the list")},
      {"data_param.label_file", write("a Data layer of its own for the labels")},
      // Solvers.
      {"SolverParameter.rampup_interval", write("warmup_iter")},
      {"SolverParameter.rampup_lr", write("warmup_start_lr")},
      {"SolverParameter.warmup_step", write("warmup_iter")},
      {"SolverParameter.warmup_iters", write("warmup_iter")},
      {"SolverParameter.warmup_lr", write("warmup_start_lr")},
      {"SolverParameter.min_lr", write("lr_policy: \"multistep\" where a rate shall not fall below another")},
      {"SolverParameter.plateau_winsize", write("lr_policy: \"multistep\" with stepvalue")},
      {"SolverParameter.momentum_policy", write("momentum: it is constant")},
      {"SolverParameter.max_momentum", write("momentum: it is constant")},
      {"SolverParameter.local_lr_auto", write("type: \"LARS\"")},
      {"SolverParameter.larc", write("type: \"LARS\"")},
      {"SolverParameter.larc_policy", write("type: \"LARS\"")},
      {"SolverParameter.larc_turbo", write("type: \"LARS\"")},
      {"SolverParameter.eval_type", write("Accuracy layers in the test net")},
      {"SolverParameter.ap_version", write("Accuracy layers in the test net")},
      {"SolverParameter.show_per_class_result", write("a second top of Accuracy, which has it for each class")},
      {"SolverParameter.snapshot_after_test", write("snapshot: the same number as test_interval")},
      {"SolverParameter.scheduled_snapshot", write("snapshot")},
      {"SolverParameter.stop_loss", write("max_iter")},
      {"SolverParameter.device_ids", write("--devices on the command line")},
      {"param.local_lr", write("lr_mult")},
      {"param.lr", write("lr_mult")},
      {"param.wd_mult", write("decay_mult")},
  };
  return all;
}
}  // namespace

const ForeignWord* foreign_word(const std::string& block, const std::string& field) {
  for (const std::string& name : {block + "." + field, "." + field}) {
    const auto found = words().find(name);
    if (found != words().end()) return &found->second;
  }
  return nullptr;
}

}  // namespace cortado
