#include "app/command_line/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>

#include "app/build_info.h"
#include "app/command_line/caffe_words.h"
#include "app/command_line/option_values.h"
#include "app/start/environment.h"
#include "core/base/error.h"
#include "parallel_io/sets/image.h"

namespace cortado {
namespace {
void add_net_options(CLI::App* verb, Options& o) {
  verb->add_option("--level", o.level, "Level of the net's state, for include and exclude rules");
  verb->add_option("--stage", o.stages, "Stages of the net's state, separated by commas")->delimiter(',');
}

void add_strict(CLI::App* verb) {
  verb->add_flag_callback("--strict", &refuse_damaged_images,
                          "Images that are cut or damaged are errors, not warnings");
}

void add_shape(CLI::App* verb, Options& o) {
  verb->add_option("--shape", o.shape, "A sample's shape, such as 3x227x227, where a data layer's source is away");
}

constexpr const char* profile_text = "Simulator: write a timeline (Perfetto, chrome://tracing), show cycles by kernel";

void add_core_groups(CLI::App* verb, Options& o) {
  verb->add_option("--core-groups", o.core_groups,
                   "Core groups of each process, which share its batch; default: what the backend has")
      ->check(CLI::PositiveNumber);
}

void add_devices(CLI::App* verb, Options& o) {
  verb->add_option(
          "--devices", o.devices,
          "GPUs of this node, separated by commas, or all; a number given twice gets two core groups. Ranks of a "
          "node share them; default: each its own")
      ->delimiter(',');
}

void add_simulator_options(CLI::App* verb, Options& o) {
  verb->add_flag("--timing-only", o.timing_only, "Simulator: keep time without arithmetic");
  verb->add_option("--profile", o.profile, profile_text);
}

void add_precision(CLI::App* verb, Options& o) {
  verb->add_option("--precision", o.precision, "How activations are stored: fp32 or bf16, as `precision` in a solver")
      ->capture_default_str()
      ->check(CLI::IsMember({"fp32", "bf16"}));
}

void add_tuning(CLI::App* verb, Options& o) {
  verb->add_option("--tuning", o.tuning, "Tuning file (cortado tune), besides Cortado's and the user's own");
}

void add_rounds(CLI::App* verb, Options::Bench& b) {
  verb->add_option("--rounds", b.rounds, "Runs of each, interleaved; medians count")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

void add_topology(CLI::App* verb, Options& o) {
  verb->add_option("--topology", o.topology,
                   "Text with a line per rank: its node, and its supernode; default: found out");
  verb->add_option("--rules", o.rules, "Rules of which collective is fastest (cortado tune --collectives)");
  verb->add_option("--supernode", o.nodes_per_supernode, "Nodes of a supernode; default: all in one")
      ->check(CLI::PositiveNumber);
}

void add_tune(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("tune", "Find the fastest plans of a net's layers on this machine");
  auto* model = verb->add_option("--model", o.model, "Net prototxt");
  verb->add_flag("--collectives", o.tune.collectives,
                 "Instead: the fastest allreduce, reduce and broadcast of every length for this job, to rules; run "
                 "under mpirun")
      ->excludes(model);
  verb->add_option("--sizes", o.bench.sizes, "Of --collectives: bytes; default 4 KB to 64 MB")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  add_topology(verb, o);
  verb->add_option("--iterations", o.tune.iterations,
                   "Runs of every plan that is not far behind, of which the best counts")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_flag("--explain", o.explain, "Also show plans that were not tried, and why");
  verb->add_option("--out", o.tune.out,
                   "Tuning file to write or add to, or rules to write; default tuning.prototxt, or collectives.json");
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_precision(verb, o);
  add_shape(verb, o);
  add_net_options(verb, o);
  add_devices(verb, o);
  add_simulator_options(verb, o);
}

void add_train(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("train", "Train a net, or go on training it");
  const auto effects = CLI::IsMember({"stop", "snapshot", "none"});
  verb->add_option("--solver", o.solver, "Solver prototxt")->required();
  add_strict(verb);
  verb->add_option("--snapshot", o.snapshot,
                   "Go on from this .solverstate or .solverstate.h5; auto: from the newest whole one of the solver's "
                   "snapshot_prefix, or begin where there is none");
  verb->add_option("--snapshot-keep", o.snapshot_keep, "Delete all but so many of this run's newest snapshots; 0: none")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--snapshot-best", o.snapshot_best,
                   "Keep PREFIX_best, the snapshot at the best value of this output of a test net");
  verb->add_option("--weights", o.weights, "Start from these .caffemodels or .caffemodel.h5s, separated by commas");
  verb->add_option("--sigint_effect", o.sigint_effect, "On SIGINT: stop, snapshot or none")
      ->capture_default_str()
      ->check(effects);
  verb->add_option("--sighup_effect", o.sighup_effect, "On SIGHUP")->capture_default_str()->check(effects);
  verb->add_option("--sigterm_effect", o.sigterm_effect, "On SIGTERM")->capture_default_str()->check(effects);
  verb->add_option("--sigusr1_effect", o.sigusr1_effect, "On SIGUSR1, which batch systems send before the limit")
      ->capture_default_str()
      ->check(effects);
  add_net_options(verb, o);
  add_core_groups(verb, o);
  verb->add_option("--feed", o.feed,
                   "How batches reach core groups: direct, each from the host; master, through core group 0")
      ->capture_default_str()
      ->check(CLI::IsMember({"direct", "master"}));
  add_devices(verb, o);
  add_tuning(verb, o);
  verb->add_option(
      "--exchange", o.exchange,
      "How ranks agree on gradients: packed, host_sums (while backward goes on), buckets (and the next forward), "
      "coded, coded_hops, master (rank 0 updates); default is the solver's, packed");
  verb->add_option(
      "--timeline", o.timeline,
      "Write what every iteration spends its time with, for Perfetto or chrome://tracing, and print shares");
  verb->add_option("--codec", o.codec,
                   "What coded exchanges send, or master's weights: " + codec_names() +
                       "; default is the solver's, dynamic_tree8 or fp32");
  verb->add_option(
      "--allreduce", o.allreduce,
      "The algorithm of packed and buckets: " + algorithm_names("allreduce") + "; auto: what the cost model chooses");
  add_topology(verb, o);
  verb->add_flag("--choose-plans", o.choose_plans,
                 "Try two plans of every layer in iterations 1 and 2, keep the faster");
  verb->add_option("--profile", o.profile, profile_text);
}

void add_test(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("test", "Score a net");
  verb->add_option("--model", o.model, "Net prototxt")->required();
  verb->add_option("--weights", o.weights, "The .caffemodel or .caffemodel.h5")->required();
  add_strict(verb);
  verb->add_option("--iterations", o.iterations, "Batches to score")->capture_default_str()->check(CLI::PositiveNumber);
  add_precision(verb, o);
  add_devices(verb, o);
  add_net_options(verb, o);
}

void add_time(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("time", "Time each layer of a net");
  verb->add_option("--model", o.model, "Net prototxt")->required();
  verb->add_option("--weights", o.weights, "Start from this .caffemodel or .caffemodel.h5");
  verb->add_option("--iterations", o.iterations, "Iterations to average over")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_tuning(verb, o);
  verb->add_flag("--explain", o.explain, "Also show every layer's plans, those passed over, and why");
  verb->add_option("--phase", o.phase, "TRAIN or TEST")->check(CLI::IsMember({"TRAIN", "TEST"}));
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_devices(verb, o);
  add_shape(verb, o);
  add_net_options(verb, o);
  add_precision(verb, o);
  add_simulator_options(verb, o);
}

void add_predict(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("predict", "The speed-up that a net will have on many devices (Dettmers 2016)");
  auto& p = o.predict;
  auto* model = verb->add_option("--model", o.model, "Net prototxt");
  auto* machine = verb->add_option(
      "--machine", p.machine,
      "JSON: links between devices, and times of layers, which are measured here without (docs/use/prediction.md)");
  verb->add_option("--devices", p.devices, "Numbers of devices, separated by commas; default 1 to 96")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  verb->add_option("--fully-connected", p.fully_connected,
                   "How fully connected layers are parallel: model, over outputs; data, like all others; whole, each "
                   "device has them and takes all activations")
      ->capture_default_str()
      ->check(CLI::IsMember({"model", "data", "whole"}));
  verb->add_option("--sub-batch", p.sub_batch,
                   "Samples that pass through fully connected layers at a time; default: a device's batch")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--divide", p.divide,
                 "Instead: whether and how to divide the weights of each fully connected layer over devices")
      ->needs(machine);
  verb->add_flag("--count-one-pass", p.one_pass,
                 "Count what is exposed of one pass only, as the paper's equations do; default: of every pass");
  verb->add_option("--codec", o.codec, "What messages are sent as: " + codec_names() + "; default fp32");
  verb->add_option(
      "--exchange", o.exchange,
      "How gradients travel: buckets, while backward and the next forward go on, the default; packed, after "
      "backward; coded");
  verb->add_option(
      "--allreduce", o.allreduce,
      "Sum gradients by this algorithm: " + algorithm_names("allreduce") + "; default: everybody to everybody");
  verb->add_flag("--check", p.check,
                 "Under mpirun: train here, with exchanges packed, buckets and coded, beside what is predicted")
      ->needs(model)
      ->excludes(machine);
  verb->add_flag("--published", p.published, "Instead: the paper's tables from their inputs, beside what it prints")
      ->excludes(model);
  verb->add_flag("--scalednn", p.scalednn,
                 "Instead: ScaleDNN's four devices (Xu et al. 2021) simulated, beside what the paper prints")
      ->excludes(model);
  verb->add_option("--iterations", p.iterations, "Iterations that measuring averages over")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_precision(verb, o);
  add_tuning(verb, o);
  add_net_options(verb, o);
}

void add_check(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("check", "Show shapes, parameters, memory and plans of a net without running it");
  auto* model = verb->add_option("--model", o.model, "Net prototxt");
  verb->add_option("--solver", o.solver, "Solver prototxt, whose net is checked")->excludes(model);
  verb->add_option("--phase", o.phase, "TRAIN or TEST; default TRAIN")->check(CLI::IsMember({"TRAIN", "TEST"}));
  verb->add_flag("--explain", o.explain, "Also show the plans that each layer passed over, and why");
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_precision(verb, o);
  add_devices(verb, o);
  add_shape(verb, o);
  add_net_options(verb, o);
}

void add_device_query(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("device_query", "Show the machine as Cortado sees it, and its measured limits");
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_devices(verb, o);
}

void add_classify(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("classify", "The likeliest classes of images");
  auto& c = o.classify;
  verb->add_option("--model", o.model, "Net prototxt with one input (deploy.prototxt)")->required();
  verb->add_option("--weights", o.weights, "The .caffemodel or .caffemodel.h5")->required();
  verb->add_option("--mean_file", c.mean_file,
                   "Mean to subtract, .binaryproto; default: as the net's transform_param has it, or that of the "
                   "training net in its folder");
  verb->add_option("--mean_value", c.mean_values, "Mean per channel to subtract, separated by commas")->delimiter(',');
  verb->add_option("--scale", c.scale, "Factor on values after the mean is gone; default: likewise")
      ->check(CLI::Range(1e-30, 1e30));
  verb->add_option("--labels", c.labels, "File with one class name per line");
  verb->add_option("--top", c.top, "Classes to show")->capture_default_str()->check(CLI::PositiveNumber);
  add_devices(verb, o);
  verb->add_flag("--antialias", c.antialias, "Resize images as a net that was trained with antialias: true wants it");
  verb->add_option("images", c.images, "JPEG or PNG files")->required();
  add_strict(verb);
}

void add_upgrade(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("upgrade", "A net, weights or a solver of any version of Caffe's in today's form");
  auto& u = o.upgrade;
  verb->add_option("from", u.from, "Text or binary; weights in HDF5 too")->required();
  verb->add_option("to", u.to, "File to write")->required();
  verb->add_option(
          "--as", u.as,
          "text, binary or hdf5 (weights alone); default: text for X.prototxt, hdf5 for X.h5, otherwise binary")
      ->check(CLI::IsMember({"text", "binary", "hdf5"}));
  verb->add_flag("--solver", u.solver, "It is a solver; default: found out");
}

void add_draw(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("draw", "A net as a graph, in Graphviz's language or, by its dot, as a picture");
  verb->add_option("--model", o.model, "Net prototxt")->required();
  verb->add_option("--out", o.draw.out, "X.dot (or X.gv), or X.svg, X.png, X.pdf by dot; default: text to the screen");
  verb->add_option("--phase", o.phase, "TRAIN or TEST; default TRAIN")->check(CLI::IsMember({"TRAIN", "TEST"}));
  verb->add_flag("--left-to-right", o.draw.left_to_right, "Instead of from top to bottom");
  add_shape(verb, o);
  add_net_options(verb, o);
}

void add_extract(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("extract", "Values of blobs for the samples that a net reads, as a data set");
  verb->add_option("--model", o.model, "Net prototxt, with the layer that reads")->required();
  verb->add_option("--weights", o.weights, "The .caffemodel or .caffemodel.h5")->required();
  add_strict(verb);
  verb->add_option("--blobs", o.extract.blobs, "Names of blobs, separated by commas")->required()->delimiter(',');
  verb->add_option("--out", o.extract.out, "HDF5 file to write, or LMDB folder: BLOB is put behind for several")
      ->required();
  verb->add_option("--as", o.extract.format, "hdf5: a data set per blob; lmdb: a folder of float Datums per blob")
      ->capture_default_str()
      ->check(CLI::IsMember({"hdf5", "lmdb"}));
  verb->add_option("--iterations", o.iterations, "Batches")->capture_default_str()->check(CLI::PositiveNumber);
  add_precision(verb, o);
  add_devices(verb, o);
  add_net_options(verb, o);
}

void add_compare(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("compare", "Where two backends, plans or builds compute different values of a net");
  verb->add_option("--model", o.model, "Net prototxt; its Input layers get random values")->required();
  verb->add_option("--weights", o.weights, "The .caffemodel or .caffemodel.h5; default: the fillers");
  verb->add_option("--phase", o.phase, "TRAIN or TEST; default TRAIN")->check(CLI::IsMember({"TRAIN", "TEST"}));
  auto& c = o.compare;
  auto* with = verb->add_option("--with", c.with,
                                "reference: the checking backend; plans: --tuning's plans with layers' own; or a file "
                                "that --save wrote, by another build for example")
                   ->capture_default_str();
  verb->add_option("--save", c.save, "Write the values to this HDF5 file instead of comparing them")->excludes(with);
  verb->add_option("--tolerance", c.tolerance, "Largest difference, over the largest value of the blob")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--seed", c.seed, "Of fillers, inputs and dropout")->capture_default_str();
  verb->add_option("--json", o.json, "Also write the rows to this file");
  add_tuning(verb, o);
  add_devices(verb, o);
  add_net_options(verb, o);
}

void add_resize(CLI::App* verb, Options::Convert& c) {
  verb->add_option("--resize", c.resize, "Images to WIDTHxHEIGHT, bilinearly, as OpenCV and Caffe do");
  verb->add_flag("--antialias", c.antialias,
                 "Resize by the mean of all pixels that one covers; JPEGs are decoded at a smaller scale");
}

void add_convert_set(CLI::App* convert, Options::Convert& c) {
  auto* verb = convert->add_subcommand("set", "Any data set, told by its content, to another format");
  verb->callback([&c] { c.kind = "set"; });
  verb->add_option(
          "from", c.from,
          "HDF5 file, master of a striped set, list of HDF5 files or of images, LMDB folder, IDX file of images, "
          "CIFAR file or folder, folder of images")
      ->required();
  verb->add_option("to", c.to, "File (lmdb: folder) to write")->required();
  verb->add_option("--as", c.format, "hdf5, striped, lmdb, images (a list and PNG files), idx or cifar")
      ->required()
      ->check(CLI::IsMember({"hdf5", "striped", "lmdb", "images", "idx", "cifar"}));
  verb->add_option("--stripes", c.stripes, "Files of a striped set")->capture_default_str()->check(CLI::PositiveNumber);
  verb->add_option("--stripe-size", c.stripe_bytes, "Bytes that lie together in one of them, such as 256M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(false));
  verb->add_option("--folders", c.folders, "Folders that take stripes in turn, separated by commas; default TO.stripes")
      ->delimiter(',');
  verb->add_option("--root", c.root, "Folder before the names of an image list");
  verb->add_flag("--encoded", c.encoded, "Keep JPEG and PNG images as they are; those that are resized become PNG");
  add_resize(verb, c);
  verb->add_flag("--grey", c.grey, "Images in grey");
  verb->add_flag("--shuffle", c.shuffle, "In a random order");
  verb->add_option("--seed", c.seed, "Of that order")->capture_default_str();
  verb->add_flag("--verify", c.verify, "Compare what is read with its checksums");
  add_strict(verb);
}

void add_convert_mean(CLI::App* convert, Options::Convert& c) {
  auto* verb = convert->add_subcommand("mean", "The mean sample of a data set, for mean_file");
  verb->callback([&c] { c.kind = "mean"; });
  verb->add_option("from", c.from, "Data set of any format that `set` reads")->required();
  verb->add_option("to", c.to, "File to write, .binaryproto")->required();
  verb->add_option("--root", c.root, "Folder before the names of an image list");
  add_resize(verb, c);
  verb->add_flag("--grey", c.grey, "Images in grey");
  add_strict(verb);
}

void add_convert(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("convert", "Make data sets, from one format to another; goes on where it was killed");
  verb->require_subcommand(1);
  auto& c = o.convert;
  add_convert_set(verb, c);
  add_convert_mean(verb, c);
  const auto kind = [&](const char* name, const char* what) {
    auto* sub = verb->add_subcommand(name, what);
    sub->callback([&c, name] { c.kind = name; });
    sub->add_option("--type", c.type, "Stored as float or uint8")
        ->capture_default_str()
        ->check(CLI::IsMember({"float", "uint8"}));
    sub->add_option("--scale", c.scale, "Factor on stored values (float only)");
    return sub;
  };
  auto* mnist = kind("mnist", "The four IDX files of MNIST, gzipped or not");
  mnist->add_option("from", c.from, "Folder with the IDX files")->required();
  mnist->add_option("to", c.to, "Folder to write train.h5, test.h5 and their lists to")->required();
  auto* digits = kind("digits", "Generated digits, in MNIST's shape");
  digits->add_option("to", c.to, "Folder to write to")->required();
  digits->add_option("--train", c.train, "Training samples");
  digits->add_option("--test", c.test, "Test samples");
  digits->add_option("--seed", c.seed, "Seed")->capture_default_str();
  digits->add_flag("--idx", c.idx, "Write IDX files instead of HDF5");
  for (auto* images :
       {kind("images", "A folder of images, one folder per class"), kind("cifar10", "CIFAR-10 as folders of JPEGs")}) {
    images->add_option("from", c.from, "Folder with the images")->required();
    images->add_option("to", c.to, "Folder to write to")->required();
    images->add_option("--mean", c.mean, "Mean of the training set to subtract: none, pixel or channel")
        ->check(CLI::IsMember({"none", "pixel", "channel"}));
    add_resize(images, c);
    add_strict(images);
    images->add_flag("--rgb", c.rgb, "Channels as red, green, blue; default is Caffe's blue, green, red");
  }
}

void add_bench(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("bench", "Time parts of training, beside published times");
  verb->require_subcommand(1);
  auto& b = o.bench;
  const auto kind = [&](const char* name, const char* what, const std::vector<std::string>& sets = {}) {
    auto* sub = verb->add_subcommand(name, what);
    sub->callback([&b, name, sets] {
      b.kind = name;
      if (b.sets.empty()) b.sets = sets;
    });
    sub->add_option("--json", o.json, "Also write the rows to this file");
    add_devices(sub, o);
    add_simulator_options(sub, o);
    if (sets.empty()) return sub;
    sub->add_option("--set", b.sets,
                    "Folders of models/ or net prototxts, separated by commas; default " + CLI::detail::join(sets))
        ->delimiter(',');
    sub->add_option("--batch", b.batch, "Images; default is the set's own")->check(CLI::PositiveNumber);
    return sub;
  };
  auto* conv = kind("conv", "Convolutions of a net, by every candidate and direction", {"vgg16"});
  conv->add_option("--plan", b.plan, "Candidate, or a word of candidates' names; default all");
  conv->add_flag("--blocks", b.blocks, "Activations in blocks of sixteen channels, where there are so many");
  add_precision(conv, o);
  conv->add_option("--directions", b.directions, "forward, weight_gradient, input_gradient; default all three")
      ->delimiter(',')
      ->check(CLI::IsMember({"forward", "weight_gradient", "input_gradient"}));
  auto* gemm = kind("gemm", "Matrix products, by every multiplier");
  auto* sizes = gemm->add_option("--sizes", b.sizes, "Square products of these sizes")
                    ->delimiter(',')
                    ->check(CLI::PositiveNumber);
  gemm->add_option("--shapes", b.shapes, "Products MxNxK: (M x K) times (K x N)")->delimiter(',')->excludes(sizes);
  gemm->add_option("--type", b.type, "float or double")
      ->capture_default_str()
      ->check(CLI::IsMember({"float", "double"}));
  auto* io = kind("io", "Reading data sets: one file beside stripes, beside plain pread, cold and warm");
  io->add_option("--set", b.sets, "Data sets to read, separated by commas; default: images of noise, written for it")
      ->delimiter(',');
  io->add_option("--batch", b.batch, "Samples read at a time; default 256")->check(CLI::PositiveNumber);
  io->add_option("--samples", b.samples,
                 "Images of noise, of 192 KiB each; default: sets and reads that take a minute and a half in all")
      ->check(CLI::PositiveNumber);
  io->add_option("--folders", b.folders, "Folders to stripe over, 1, 2, 4, ... of them; default four beside each other")
      ->delimiter(',');
  io->add_option("--readers", b.readers, "Threads that read")->delimiter(',')->check(CLI::PositiveNumber);
  add_rounds(io, b);
  for (const auto& [name, what] :
       {std::pair<const char*, const char*>{
            "allreduce", "Sums over ranks, by every algorithm, beside the MPI library's; run under mpirun"},
        {"reduce", "Sums on rank 0, likewise"},
        {"broadcast", "Broadcasts, likewise"}}) {
    auto* collective = kind(name, what);
    collective->add_option("--sizes", b.sizes, "Bytes; default 4 KB to 256 MB")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber);
    collective
        ->add_option("--algorithms", b.algorithms,
                     "Some of them, separated by commas, of " + algorithm_names(name) + "; default all")
        ->delimiter(',');
    add_rounds(collective, b);
    add_topology(collective, o);
  }
  auto* exchange =
      kind("exchange", "Sums of gradients over ranks, as floats and as codes: time, errors; run under mpirun");
  exchange
      ->add_option("--set", b.sets, "Folder of models/ or net prototxt whose parameters are summed; default alexnet")
      ->expected(1);
  exchange
      ->add_option("--codecs", b.codecs,
                   "Some of them, separated by commas, of " + codec_names() + "; default all for gradients")
      ->delimiter(',');
  add_rounds(exchange, b);
  add_topology(exchange, o);
  kind("codec", "What gradients are sent as: encoding and decoding, errors of the 8-bit types")
      ->add_option("--samples", b.samples,
                   "Of each distribution, for the errors; default 25 million, on a simulator 100000")
      ->check(CLI::PositiveNumber);
  kind("arrays", "Simulated disk arrays of limited bandwidth: one beside 32, for up to 1024 readers");
  const std::vector<std::string> many = {"vgg16", "alexnet_bn", "resnet50"};
  kind("pool", "Pooling layers of nets", many);
  kind("relu", "ReLU layers of nets", many);
  kind("transform", "Changes of layout of convolutions' bottoms", many);
  CLI::App* const net =
      kind("net", "Training iterations of nets, of the node's batch; table3: those of swCaffe's table", {"table3"});
  add_core_groups(net, o);
  net->add_option("--exchange", o.exchange,
                  "How core groups agree on gradients: packed, after backward (default), or host_sums, meanwhile")
      ->check(CLI::IsMember({"packed", "host_sums"}));
}
/// To every command: all may run on several ranks.
void add_patience(CLI::App& app, Options& o) {
  const auto below = app.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* const one : below) add_patience(*one, o);
  if (!below.empty()) return;
  app.add_option("--patience", o.patience, "Under mpirun: seconds without progress after which a wait ends the job")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}
/// See Options::given.
void note_flags(const CLI::App& app, Options& o) {
  static const std::set<std::string> paths = {"solver",   "model", "weights", "snapshot",
                                              "topology", "rules", "tuning",  "timeline"};
  static const std::set<std::string> own = {"json",           "profile",       "help",
                                            "sigint_effect",  "sighup_effect", "sigterm_effect",
                                            "sigusr1_effect", "gpu",           "devices"};
  for (const CLI::Option* const option : app.get_options()) {
    const std::string name = option->get_single_name();
    if (option->count() == 0 || own.count(name) > 0) continue;
    o.given.emplace_back(option->get_name(),
                         paths.count(name) > 0 ? "a file" : CLI::detail::join(option->results(), ","));
  }
  for (const CLI::App* const below : app.get_subcommands()) {
    o.given.emplace_back("the command", below->get_name());
    note_flags(*below, o);
  }
}
}  // namespace

Options parse_command_line(int count, char** arguments) {
  Options options;
  CLI::App app{"Cortado trains convolutional networks on many-core machines.", "cortado"};
  app.set_version_flag("--version", std::string("cortado ") + build_info::version);
  app.require_subcommand(1);
  add_train(app, options);
  add_test(app, options);
  add_time(app, options);
  add_predict(app, options);
  add_check(app, options);
  add_device_query(app, options);
  add_classify(app, options);
  add_convert(app, options);
  add_bench(app, options);
  add_tune(app, options);
  add_upgrade(app, options);
  add_draw(app, options);
  add_extract(app, options);
  add_compare(app, options);
  add_patience(app, options);
  std::vector<std::string> words = settle_words(app, caffe_words(count, arguments, options.notes), options.notes);
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::Success& wanted) {  // --help, --version
    if (launched_rank() == 0) app.exit(wanted);
    return options;
  } catch (const CLI::ParseError& error) { throw ConfigError("command line", error.what(), "see cortado --help"); }
  options.verb = app.get_subcommands().front()->get_name();
  note_flags(app, options);
  return options;
}

}  // namespace cortado
