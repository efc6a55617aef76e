#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/net/layer_table.h"

namespace caffe {
class NetParameter;
class NetState;
}  // namespace caffe

namespace cortado {

class Recomputation;

/// Consecutive layers [first, end), as a net numbers them.
struct Segment {
  std::size_t first, end;
};

/// A net's services, and how it is built.
struct NetOptions : Services {
  int writer = 0, writers = 1;  ///< see RunState
  std::uint64_t seed = 1;
  Feed feed = Feed::direct;
  PlanBook plans;  ///< candidates to use; empty: each layer's own order decides
  /// Layouts that tuning found best, for layers that `plans` says nothing about.
  std::map<std::string, Layout> layouts;
  /// Nobody looks at what lies between layers. Gradients of such blobs share memory where they are not needed at the
  /// same time: after a backward pass only those of parameters, and of losses, can be read. And a blob that one layer
  /// makes for another may never be made, or hold only what is read of it: see the passes that only train.
  bool only_trains = false;
  /// Nobody runs backward: see the passes that only score.
  bool only_scores = false;
  /// Somebody reads and writes what lies between layers, and runs some layers without the others: passes leave layers
  /// and their blobs as the text has them. Excludes the two above.
  bool keeps_values = false;
  /// bf16: mixed precision (pass casts). Throws ConfigError where the group's memory cannot hold it.
  Precision precision = Precision::fp32;
  /// All gradients come out this many times as large (loss scaling); losses do not.
  float loss_scale = 1;
  /// Segments whose inner values are made again for backward, besides those of the text's layers with `recompute`
  /// (pass recomputation). A net of the same text and options without them has numbered their layers.
  std::vector<Segment> recomputed;
  /// Passes (core/net/passes) that do not run. Throws ConfigError for one that is none, or that nets need.
  std::set<std::string> without;
};

/// A directed acyclic graph of layers (Caffe's Net). Keeps Caffe's rules: include/exclude by phase, level and stage,
/// in-place layers, shared parameters by name, loss weights, lr_mult and decay_mult, Split layers inserted where a
/// top feeds several layers, force_backward and propagate_down.
///
/// All learnable values lie in one arena and all their gradients in another, in the order in which backward
/// finishes them (last layer first), so the exchange of gradients needs no packing and a bucket is a range. Each
/// blob starts at a multiple of `arena_alignment` floats; the gaps are zero and stay so. Not in them, but in memory of
/// their own, are this rank's shards of blobs that lie over ranks: nobody else has values or gradients of them.
///
/// Building a net shapes it and fills its parameters; other memory comes with the first forward and backward.
class Net {
 public:
  /// `parameter` is unfiltered; parameter.state() gives phase, level and stages. Throws ConfigError, ShapeError.
  Net(const caffe::NetParameter& parameter, const NetOptions& options);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  const std::string& name() const { return name_; }
  RunState& run() { return run_; }

  /// Runs layers [from, to) in order. Advances nothing: set run().pass before. Layers are reshaped where a bottom's
  /// shape is another than when they were shaped last: images may have sizes of their own. Throws ShapeError where they
  /// cannot be.
  void forward() { forward(0, layers_.size()); }
  void forward(std::size_t from, std::size_t to);
  /// The diffs of loss tops hold their loss weights from the start; what the caller writes over them stands. Zeroed
  /// parameter gradients are the caller's business (clear_gradients). Runs layers [from, to) backward, and their
  /// parameter gradients then lie in the arena; `finished(i)` is called when layer i's are queued, if given.
  void backward() { backward(0, layers_.size()); }
  void backward(std::size_t from, std::size_t to, const std::function<void(std::size_t)>& finished = {});
  /// Parameter gradients count as zeros from now on (Blob::clear_diff): layers may set them instead of adding to them.
  void clear_gradients();
  /// Ends by layer: once its backward has run (`finished`), the gradient arena is final up to here. A parameter's
  /// gradient is final when the first layer that uses it, or that does such a layer's work, has run backward.
  std::vector<i64> final_gradients();
  /// Learnable blobs, as indices, that each layer's forward reads, with those of layers whose work it does.
  std::vector<std::vector<std::size_t>> learnables_read() const;
  /// After input blobs changed shape. Sets the diffs of loss tops again.
  void reshape();
  /// Sum over loss tops of weight * value of the last forward, on this rank. Waits.
  double loss();

  /// Functions that get a layer's number before and after its forward and its backward, also where its backward has
  /// nothing to do. Its gradients are finished after `after_backward`. Work may still be queued (CoreGroup::wait).
  struct Callbacks {
    std::function<void(std::size_t)> before_forward, after_forward, before_backward, after_backward;
  };
  /// In place of those before. A layer whose work another one does has none, so a net that keeps values calls most.
  void set_callbacks(Callbacks callbacks) { callbacks_ = std::move(callbacks); }

  struct Entry {
    std::unique_ptr<Layer> layer;
    std::string type;
    Layer::Blobs bottom, top;
    std::vector<std::string> bottom_names, top_names;
    std::vector<bool> propagate_down;
    std::vector<double> loss_weights;  ///< per top, 0: not a loss
    bool need_backward = false;
    bool is_absorbed = false;           ///< an earlier layer does this one's work
    std::vector<std::size_t> absorbed;  ///< layers whose work this one does too
    std::vector<Epilogue> epilogues;    ///< what it has accepted, in that order
    /// The tops that backward gets: its own, or those with a gradient of a split that follows.
    Layer::Blobs gradient_tops;
    Blob* joined_in = nullptr;      ///< of those, in whose gradient a later layer joins them
    std::vector<Shape> shaped_for;  ///< the bottoms' shapes when the layer was reshaped last
    bool is_added_up = false;       ///< a split whose tops' gradients an earlier layer takes
  };
  const std::vector<Entry>& layers() const { return layers_; }
  /// The changes of a pass while the net was built, a line each, for people.
  struct PassReport {
    std::string pass;
    bool is_off = false;  ///< NetOptions::without
    std::vector<std::string> did;
  };
  /// All passes' reports, in the order in which they run.
  const std::vector<PassReport>& passes() const { return passes_; }
  /// The segments whose inner values share memory, and are made again for backward (pass recomputation).
  std::vector<Segment> recomputed() const;
  Layer* layer(const std::string& name) const;  ///< null if there is none
  Blob* blob(const std::string& name) const;    ///< null if there is none
  const std::vector<std::string>& blob_names() const { return blob_names_; }
  /// Blobs that no layer consumes, sorted by name, as Caffe's log numbers them; their loss weights.
  struct Output {
    std::string name;
    Blob* blob;
    double loss_weight;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  /// Blobs filled by the caller: tops of Input and MemoryData layers, and the net's legacy `input` fields.
  const std::vector<Blob*>& inputs() const { return inputs_; }

  /// A blob kept in the arenas: owners only (sharers excluded), in Caffe's order (layer by layer), which is also the
  /// order of a .solverstate's history. Statistics are among them, with lr_mult 0, as in Caffe.
  struct Learnable {
    Blob* blob;
    std::string layer;  ///< owner
    int index;          ///< which of its blobs
    float lr_mult, decay_mult;
    i64 arena_offset;                    ///< in floats; means nothing for a part
    bool statistic;                      ///< averaged over replicas instead of updated
    const Division* division = nullptr;  ///< how ranks hold it, of which `blob` is this one's part; null: whole
  };
  const std::vector<Learnable>& learnable() const { return learnable_; }
  static constexpr i64 arena_alignment = 32;
  /// Null once the parameters are another net's (share_trained).
  const std::shared_ptr<Storage>& parameter_arena() const { return parameter_arena_; }
  /// Made, zeroed, by the first call of this, clear_gradients or backward: a net that only tests needs none.
  const std::shared_ptr<Storage>& gradient_arena();

  /// A range of the arenas without running statistics: nothing lies between its values but gaps.
  struct Range {
    i64 first, count;  ///< in floats
  };
  std::vector<Range> weight_ranges() const;

  /// Bytes of the blobs between layers, of their gradients as far as backward needs them, of parameters, and of their
  /// gradients. What layers keep for themselves is not in it, unless it shares memory with values that are made again.
  struct Memory {
    i64 activations = 0, activation_gradients = 0, parameters = 0, parameter_gradients = 0;
  };
  Memory memory() const;

  /// Averages the running statistics over replicas, so that all ranks agree. Collective; before tests and snapshots.
  void average_statistics();

  /// The ranks that hold shards; nullptr means that there are none.
  ShardExchange* shards() const { return services_.shards; }
  /// So many layers, in forward order, have all those among them that meet other ranks in their forward because they
  /// are divided; 0: none does.
  std::size_t end_of_divided() const;
  /// Makes shards those of the whole that is in `weights` on rank 0 (others' is not looked at), where it is.
  /// Collective.
  void spread_shards(const caffe::NetParameter& weights);
  /// The other way: rank 0's `weights`, made by to_proto with the same `write_diff`, get the whole instead of the
  /// shard. Collective.
  void collect_shards(caffe::NetParameter& weights, bool write_diff = false) const;

  /// Weights by layer name, as Caffe: layers that the file lacks keep theirs, layers that only the file has are
  /// logged, other shapes throw ShapeError. Legacy 4-d shapes may have ones in front. Of a parameter that layers share,
  /// the owner's blob may be the only one. Logs how many layers got theirs; throws ConfigError if none did that has
  /// some. Blobs may be in the forms of Caffe's forks (Layer::settle_stored). Files hold blobs whole: of one
  /// that ranks divide, this rank takes its shard.
  void copy_trained(const caffe::NetParameter& trained);
  /// The net with its weights, as Caffe writes a .caffemodel (`write_diff`: gradients too); with this rank's shards.
  void to_proto(caffe::NetParameter& out, bool write_diff = false) const;
  /// This net's parameter values become the other's (test nets share the training net's), by layer name. Throws
  /// ShapeError.
  void share_trained(const Net& other);

  PlanBook plans() const;
  /// Makes layers use these candidates, and reshapes. Layouts stay what they are; unknown layers and directions are
  /// ignored; throws PlanError.
  void use_plans(const PlanBook& plans);

  /// The first layer, in forward order, with NaN or Inf in a top or a parameter; empty if there is none. Waits.
  std::string first_not_finite();

 private:
  struct Builder;
  void run_forward(Entry& entry);
  void run_backward(std::size_t layer);
  void recompute(std::size_t segment);
  void need_values(std::size_t layer);
  void weigh_losses();
  void weigh_losses(const Entry& entry) const;
  static void shape(Entry& entry);
  void follow_shapes(Entry& entry);
  void write_gradients(const Entry& entry) const;
  void place_gradients();
  void settle(caffe::LayerParameter& stored, caffe::NetParameter& more) const;
  void copy_layer(const caffe::LayerParameter& source);
  void report_taken(const caffe::NetParameter& trained, const std::set<std::string>& taken) const;
  bool is_anothers(const Blob& parameter) const;  // whether a layer shares it with its owner

  std::string name_;
  // Layers keep references to the next five.
  Replicas alone_;
  Services services_;
  RunState run_;
  std::unique_ptr<Workspace> workspace_;
  std::map<std::string, Layout> layouts_;
  std::vector<Entry> layers_;
  std::vector<PassReport> passes_;
  std::vector<std::string> blob_names_;
  std::map<std::string, std::unique_ptr<Blob>> blobs_;
  std::vector<Output> outputs_;
  std::vector<Blob*> inputs_;
  std::vector<Learnable> learnable_;
  struct Share {
    Blob *user, *owner;
  };
  std::vector<Share> shares_;  // parameters shared by name
  std::shared_ptr<Storage> parameter_arena_, gradient_arena_, shared_gradients_;
  bool shares_gradients_ = false, gradients_placed_ = false;
  float loss_scale_ = 1;
  std::unique_ptr<Recomputation> recomputation_;  // nullptr: no value is made again
  Callbacks callbacks_;
};

}  // namespace cortado
