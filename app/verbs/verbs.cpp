#include "app/verbs/verbs.h"

namespace cortado {

// Each is at the end of the verb's file, in the folder that its section here names.
using MakeVerb = std::unique_ptr<Verb>();
MakeVerb make_train, make_test, make_time, make_check, make_device_query, make_classify;              // verbs
MakeVerb make_upgrade, make_draw, make_extract, make_compare, make_deploy, make_export, make_import;  // verbs
MakeVerb make_convert_set, make_convert_mean, make_convert_mnist, make_convert_digits;                // verbs
MakeVerb make_convert_images;                                                                         // verbs
MakeVerb make_convert_metrics;                                                                        // record
MakeVerb make_report;                                                                                 // plots
MakeVerb make_predict;                                                                                // predict
MakeVerb make_tune;                                                                                   // tune
MakeVerb make_doctor;                                                                                 // doctor
MakeVerb make_bench_convolution, make_bench_gemm, make_bench_io, make_bench_allreduce;                // bench
MakeVerb make_bench_reduce, make_bench_broadcast, make_bench_exchange, make_bench_codec;              // bench
MakeVerb make_bench_arrays, make_bench_pool, make_bench_relu, make_bench_transform, make_bench_net;   // bench

const std::vector<VerbRow>& verbs() {
  static const std::vector<VerbRow> rows = {
      {"train", "Train a net, or go on training it", make_train},
      {"test", "Score a net", make_test},
      {"time", "Time each layer of a net", make_time},
      {"predict", "The speed-up that a net will have on many devices (Dettmers 2016)", make_predict},
      {"check", "Show shapes, parameters, memory and plans of a net without running it", make_check},
      {"device_query", "Show the machine as Cortado sees it, and its measured limits", make_device_query},
      {"doctor", "Look for what is wrong or slow on this machine and job, and say what to do; run under mpirun",
       make_doctor},
      {"classify", "The likeliest classes of images", make_classify},
      {"convert", "Data sets from one format to another, going on where they were killed; a run's metrics", nullptr},
      {"convert set", "Any data set, told by its content, to another format", make_convert_set},
      {"convert mean", "The mean sample of a data set, for mean_file", make_convert_mean},
      {"convert mnist", "The four IDX files of MNIST, gzipped or not", make_convert_mnist},
      {"convert digits", "Generated digits, in MNIST's shape", make_convert_digits},
      {"convert images", "A folder of images, one folder per class", make_convert_images},
      {"convert cifar10", "CIFAR-10 as folders of JPEGs", make_convert_images},
      {"convert metrics", "What a training wrote of its iterations, for TensorBoard or as a table",
       make_convert_metrics},
      {"report", "A page about runs: curves, times, net and record, in one file", make_report},
      {"bench", "Time parts of training, beside published times", nullptr},
      {"bench conv", "Convolutions of a net, by every candidate and direction", make_bench_convolution},
      {"bench gemm", "Matrix products, by every multiplier", make_bench_gemm},
      {"bench io", "Reading data sets: one file beside stripes, beside plain pread, cold and warm", make_bench_io},
      {"bench allreduce", "Sums over ranks, by every algorithm, beside the MPI library's; run under mpirun",
       make_bench_allreduce},
      {"bench reduce", "Sums on rank 0, likewise", make_bench_reduce},
      {"bench broadcast", "Broadcasts, likewise", make_bench_broadcast},
      {"bench exchange", "Sums of gradients over ranks, as floats and as codes: time, errors; run under mpirun",
       make_bench_exchange},
      {"bench codec", "What gradients are sent as: encoding and decoding, errors of the 8-bit types", make_bench_codec},
      {"bench arrays", "Simulated disk arrays of limited bandwidth: one beside 32, for up to 1024 readers",
       make_bench_arrays},
      {"bench pool", "Pooling layers of nets", make_bench_pool},
      {"bench relu", "ReLU layers of nets", make_bench_relu},
      {"bench transform", "Changes of layout of convolutions' bottoms", make_bench_transform},
      {"bench net", "Training iterations of nets, of the node's batch; table3: those of swCaffe's table",
       make_bench_net},
      {"tune", "Find the fastest plans of a net's layers on this machine", make_tune},
      {"deploy", "The net that classifies, of one that is trained", make_deploy},
      {"export", "A net with its weights as an ONNX model", make_export},
      {"import", "An ONNX model as a net with its weights", make_import},
      {"upgrade", "A net, weights or a solver of any version of Caffe's in today's form", make_upgrade},
      {"draw", "A net as a graph, in Graphviz's language or, by its dot, as a picture", make_draw},
      {"extract", "Values of blobs for the samples that a net reads, as a data set", make_extract},
      {"compare", "Where two backends, plans or builds compute different values of a net", make_compare}};
  return rows;
}

}  // namespace cortado
