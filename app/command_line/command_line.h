#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The command line, parsed: one verb and its options. Names follow Caffe's flags.
struct Options {
  std::string verb;
  /// The flags that are given, with their values, which all ranks of a job must have the same: of paths, only that they
  /// are given; without what may differ (app/start/start_fields.h).
  std::vector<std::pair<std::string, std::string>> given;
  std::vector<std::string> notes;  ///< what of the command line has no effect, for the log
  std::string solver, model, snapshot, weights, phase, json;
  int snapshot_keep = -1;     ///< below 0: as the solver says
  std::string snapshot_best;  ///< empty: as the solver says
  i64 iterations = 50;
  int level = 0;
  std::vector<std::string> stages;
  std::string shape;                       ///< of samples whose source is away, where shapes are enough; empty: unknown
  std::string precision = "fp32";          ///< or bf16, of verbs that read a net without a solver
  std::string feed = "direct";             ///< or master
  std::string allreduce, exchange, codec;  ///< empty: as the solver says
  std::string topology, rules, timeline;
  int nodes_per_supernode = 0;
  double patience = 600;
  int core_groups = 0;               ///< 0: as many as the backend finds useful
  std::vector<std::string> devices;  ///< GPUs: numbers, or "all"; empty: the local rank's
  bool timing_only = false;          ///< of the simulator (app/session/backend.h), like the next
  std::string profile;
  std::string sigint_effect = "stop", sighup_effect = "snapshot", sigterm_effect = "stop", sigusr1_effect = "snapshot";
  struct Classify {
    std::string mean_file, labels;
    std::vector<float> mean_values;
    double scale = 0;  ///< 0: as the net's transform_param has it, like an empty mean
    int top = 5;
    bool antialias = false;
    std::vector<std::string> images;
  } classify;
  struct Convert {
    std::string kind;  ///< set, mean, mnist, digits, images, cifar10
    std::string from, to;
    std::string mean = "none", resize, type = "float";
    double scale = 0;  ///< 0: the kind's own default
    i64 train = 0, test = 0;
    std::uint64_t seed = 1;
    bool idx = false, rgb = false;
    std::string format;  ///< of a set: hdf5, striped, lmdb, images, idx, cifar
    i64 stripes = 32;
    std::uint64_t stripe_bytes = 256 << 20;
    std::vector<std::string> folders;
    std::string root;
    bool encoded = false, shuffle = false, grey = false, verify = false, antialias = false;
  } convert;
  struct Upgrade {
    std::string from, to, as;  ///< text, binary or hdf5; empty: as the name of `to` says
    bool solver = false;
  } upgrade;
  struct Draw {
    std::string out;
    bool left_to_right = false;
  } draw;
  struct Extract {
    std::vector<std::string> blobs;
    std::string out, format = "hdf5";
  } extract;
  struct Compare {
    std::string with = "reference";  ///< reference, plans, or a file
    std::string save;
    double tolerance = 1e-3;
    std::uint64_t seed = 1;
  } compare;
  std::string tuning;         ///< the job's tuning file
  bool choose_plans = false;  ///< try plans in the first iterations
  bool explain = false;       ///< say which plans were passed over, and why
  struct Tune {
    bool collectives = false;
    std::string out;  ///< empty: tuning.prototxt, or collectives.json
    i64 iterations = 5;
  } tune;
  struct Predict {
    std::string machine;
    std::vector<int> devices = {1, 2, 4, 8, 16, 32, 64, 96};
    i64 sub_batch = 0, iterations = 10;
    std::string fully_connected = "model";  ///< or data, whole
    bool divide = false, one_pass = false, published = false, scalednn = false, check = false;
  } predict;
  struct Bench {
    std::string kind;               ///< conv, gemm, pool, relu, transform, net, codec, io, arrays, ...
    std::vector<std::string> sets;  ///< of nets; empty: the kind's own. Of io: data sets
    i64 batch = 0;                  ///< 0: as the sets say
    i64 samples = 0, rounds = 5;    ///< of io and what runs over ranks
    std::vector<i64> readers = {1, 2, 4, 8};
    std::vector<std::string> algorithms;  ///< of allreduce, reduce and broadcast; empty: all
    std::vector<std::string> codecs;      ///< of exchange; empty: all for gradients
    std::vector<std::string> folders;
    std::string plan = "all", type = "float";
    bool blocks = false;  ///< activations in blocks of channels
    std::vector<std::string> directions, shapes;
    std::vector<i64> sizes;
  } bench;
};

/// Parses; Caffe's single-dash flags are taken too. Throws ConfigError for what it does not understand. `-help` and
/// `-version` print and leave `verb` empty.
Options parse_command_line(int count, char** arguments);

}  // namespace cortado
