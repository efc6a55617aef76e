#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/net/epilogue.h"
#include "core/net/services.h"
#include "core/net/workspace.h"
#include "core/tensor/blob.h"

namespace caffe {
class FillerParameter;
class LayerParameter;
}  // namespace caffe

namespace cortado {

class Division;

enum class Phase { train, test };

/// The route of batches to the core groups of a process: each its own part from the host, or through core group 0 (the
/// baseline that ScaleDNN is compared with).
enum class Feed { direct, master };

/// The state of a run that layers must know and that changes between iterations. The net owns it; layers keep a
/// reference.
struct RunState {
  Phase phase = Phase::train;
  std::uint64_t seed = 1;  ///< of everything drawn at random
  i64 pass = 0;            ///< forward passes of this net before this one (iteration * iter_size + micro-batch)
  /// Layers may keep what they made of the parameters until another number stands here. 0: they change from pass to
  /// pass.
  i64 parameter_version = 0;
  int rank = 0,
      ranks = 1;  ///< this process's share of the global batch: global sample = (pass * ranks + rank) * batch + n
  /// This net among the copies of it that run at the same time, whether or not they share batches: each writes files of
  /// its own.
  int writer = 0, writers = 1;
  const Replicas* replicas = nullptr;  ///< never null once the net is built
  Feed feed = Feed::direct;
  /// Layers add to "conv1/forward" the seconds of what they had a choice in, and wait for it. nullptr means that they
  /// do not.
  std::map<std::string, double>* plan_seconds = nullptr;
  /// True while forward runs again on the bottoms of the last pass, for values that gave their memory up. Layers then
  /// change nothing but tops.
  bool is_recomputing = false;

  /// Number of the first sample of this rank's batch since training began (all ranks, all passes).
  i64 first_sample(i64 batch) const { return (pass * ranks + rank) * batch; }
};

/// A layer's services and what it shares with the other layers of its net. Layers keep it, so all of it outlives them.
struct LayerContext {
  const Services& services;
  RunState& run;
  Workspace& workspace;  ///< shared by the layers of a net
  /// Layouts that tuning found best, by layout_key of a top; nullptr means none.
  const std::map<std::string, Layout>* layouts = nullptr;
};

/// The layers that passes put into nets.
enum class Role { none, split, cast, reorder, subsampling };

/// A layer reads one pixel of h x w.
struct PixelStride {
  std::uint32_t h = 1, w = 1;
  bool operator==(const PixelStride& other) const { return h == other.h && w == other.w; }
  bool operator!=(const PixelStride& other) const { return !(*this == other); }
};
constexpr PixelStride every_pixel{};

/// A core group's part of a batch. Throws ConfigError where it cannot be divided.
using BatchShare = std::function<i64(i64 batch)>;

/// The key by which a blob's best layout is kept: "mb8c256h56w56", with "bf16" behind where that is its precision.
std::string layout_key(const Shape& shape, Precision precision);

/// Which candidate each layer and direction uses ("conv1/forward" -> "implicit"). Rank 0 decides for all and
/// snapshots keep it, because another candidate sums in another order.
using PlanBook = std::map<std::string, std::string>;

/// In a PlanBook the direction whose candidates are layouts. A net asks for them once, when it is built: other layers
/// stand between other layouts.
constexpr const char* layout_direction = "layout";

/// A way in which a layer can work in one direction, for the tuner.
struct PlanOption {
  std::string direction;  ///< as in a PlanBook
  std::string shape;      ///< all that its time depends on: equal work has equal shapes, whatever the layer
  std::string candidate;
  std::string refused;  ///< why it cannot run; empty: it can
  double estimate = 0;  ///< seconds, by the analytic model; 0: not known
};

/// One step of a net: values forward from bottoms to tops, gradients backward. Subclasses live in layers/.
/// A layer holds its learnable parameters and may compute in place (top blob == bottom blob) if it says so.
class Layer {
 public:
  using Blobs = std::vector<Blob*>;

  Layer(const caffe::LayerParameter& parameter, const LayerContext& context);
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Numbers of bottoms and of tops that the layer takes; max -1 means any number. The net checks them before `setup`.
  struct Arity {
    int min = 0, max = -1;
  };
  virtual Arity bottoms() const { return {1, 1}; }
  virtual Arity tops() const { return {1, 1}; }

  // A class answers for layers that do not exist yet, by their parameter. LayerTable asks; a class that differs hides
  // the function.

  /// A pass inserts layers of this class, as its only one of the role.
  static constexpr Role role = Role::none;
  /// True means that the layer takes and makes bf16, where its bottoms are that.
  static bool keeps_bf16(const caffe::LayerParameter& /*parameter*/) { return false; }
  /// True means that mixed precision begins here: the layer takes bf16 even where its bottoms are float.
  static bool begins_bf16(const caffe::LayerParameter& /*parameter*/) { return false; }
  /// The stride of a layer whose outputs are each made of one pixel; `every_pixel` for all others.
  static PixelStride pixel_stride(const caffe::LayerParameter& /*parameter*/) { return every_pixel; }
  /// Afterwards outputs are each made of one pixel, and pixel_stride is `stride`.
  static void set_pixel_stride(caffe::LayerParameter& /*parameter*/, PixelStride /*stride*/) {}
  /// Replaces the number of samples that the parameter names by `share` of it.
  static void divide_batch(caffe::LayerParameter& /*parameter*/, const BatchShare& /*share*/) {}

  /// True means that the layer takes these bottoms, which lie_in_blocks, as they lie. Its tops lie in blocks too, but
  /// for a convolution's, which may be either. Other layers get a copy in nchw. Known before `setup`.
  virtual bool keeps_blocks(const Blobs& /*bottom*/) const { return false; }

  /// Once, after shapes of bottoms are known: reads the parameter, makes learnable blobs (add_parameter).
  virtual void setup(const Blobs& bottom, const Blobs& top);
  /// Whenever bottoms may have changed shape: shapes the tops, makes plans. Throws ShapeError.
  virtual void reshape(const Blobs& bottom, const Blobs& top) = 0;
  /// Queues the computation of all tops' data. Does not wait unless the layer needs a value on the host.
  virtual void forward(const Blobs& bottom, const Blobs& top) = 0;
  /// Given tops' diffs, queues bottoms' diffs (overwritten, where propagate_down says so) and *adds* to the
  /// parameters' diffs where param_propagate_down says so (Blob::mutable_diff; who can set one, too: Blob::sum_diff).
  virtual void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) = 0;

  /// True means that `forward` gives tops a number of samples that depends on values. Ranks then have other numbers.
  virtual bool shapes_tops_in_forward() const { return false; }

  /// The layer's work, as far as another layer can do it. Known once the layer is shaped.
  virtual Traits traits() { return {}; }
  /// Offers more work, once all layers are shaped. True means that from now on forward and backward do it too; false
  /// means that nothing has changed.
  virtual bool accept(const Epilogue& /*work*/) { return false; }

  /// A layer that works in place may keep its bottom's values: forward exchanges the memory of its top with that of
  /// this blob, which then holds them until backward. nullptr means that it changes the values where they are.
  virtual Blob* kept_bottom(const Blobs& /*bottom*/, const Blobs& /*top*/) { return nullptr; }
  /// Why forward must not run twice in a pass; empty: it may, and makes the same.
  virtual std::string why_runs_once() const { return ""; }

  /// Loss layers weigh their first top with 1 unless told otherwise.
  virtual bool is_loss() const { return false; }
  /// True means that gradients can pass from tops to bottom `i` (to labels they cannot).
  virtual bool allows_backward_to(std::size_t /*i*/) const { return true; }
  /// True means that nothing of bottom `i` matters but its shape.
  virtual bool uses_shape_only(std::size_t /*i*/) const { return false; }
  /// True means that small changes of bottom `i` change no top: it has no gradient, and none is missing.
  virtual bool has_zero_gradient(std::size_t i) const { return uses_shape_only(i); }
  /// True means that the caller fills the tops (Net::inputs).
  virtual bool is_filled_by_caller() const { return false; }
  /// True means that a top may be the bottom's blob. The net refuses this to other layers.
  virtual bool can_run_in_place() const { return false; }
  /// True means that blob `i` is a running statistic (BatchNorm's three): replicas average it, no solver updates it.
  virtual bool is_statistic(std::size_t /*i*/) const { return false; }
  /// True means that the running statistics are those of no batch.
  virtual bool lacks_statistics() const { return false; }
  /// Brings this layer's blobs in a weight file into Caffe's form, where a fork of Caffe wrote another, and warns.
  /// Blobs that belong to the map by channels (Traits::affine) of the layer behind this one move into `behind`.
  virtual void settle_stored(caffe::LayerParameter& /*stored*/, caffe::LayerParameter& /*behind*/) const {}
  /// The division of blob `i` over ranks; nullptr means that each rank holds all of it.
  virtual const Division* division(std::size_t /*i*/) const { return nullptr; }
  /// Candidates chosen, by direction ("forward" -> "explicit"), for layers that have a choice.
  virtual PlanBook plans() const { return {}; }
  /// All candidates for the shapes of the last reshape, those that refuse too, in the layer's own order.
  virtual std::vector<PlanOption> plan_options() const { return {}; }
  /// Asks for these candidates from the next reshape on; unknown directions are ignored, candidates that refuse the
  /// shape throw PlanError.
  virtual void choose_plans(const PlanBook& /*wanted*/) {}
  /// Why candidates were passed over in the last reshape, a line each, for `check`.
  virtual std::vector<std::string> refusals() const { return {}; }

  /// A line for the log at the end of a run; empty means that there is nothing to tell.
  virtual std::string statistics() const { return ""; }

  /// Multiply-adds count as two; 0 where counting says nothing (copies, comparisons). Used by `time` and `check`.
  struct Cost {
    double forward_flops = 0, backward_flops = 0, forward_bytes = 0, backward_bytes = 0;
  };
  virtual Cost cost(const Blobs& bottom, const Blobs& top) const;

  const std::string& name() const { return name_; }
  const caffe::LayerParameter& parameter() const { return *parameter_; }
  std::vector<std::shared_ptr<Blob>>& blobs() { return blobs_; }
  const std::vector<std::shared_ptr<Blob>>& blobs() const { return blobs_; }
  void set_param_propagate_down(std::size_t i, bool wanted);
  bool param_propagate_down(std::size_t i) const;

 protected:
  CoreGroup& group() const { return *context_.services.group; }
  const RunState& run() const { return context_.run; }
  /// Runs work that the layer has a choice in, and tells its time where somebody asks (RunState::plan_seconds).
  void run_plan(const std::string& direction, const std::function<void()>& work);
  const LayerContext& context() const { return context_; }
  const Services& services() const { return context_.services; }
  /// Memory for the time of this call; see Workspace.
  float* workspace(i64 floats) const { return context_.workspace.floats(floats); }
  /// The same, for those who know best how much they need.
  std::function<float*(i64 floats)> room() const {
    return [this](i64 floats) { return workspace(floats); };
  }

  /// Key of a stream of random numbers that is this layer's own: a function of seed, layer name and `purpose`, the
  /// same on every rank.
  std::uint64_t random_key(std::uint64_t purpose) const;

  /// Appends a learnable blob and fills it. A blob that came with the parameter (`blobs`) is kept instead; throws
  /// ShapeError if that has another shape.
  void add_parameter(const Shape& shape, const caffe::FillerParameter& filler);
  /// The same for this rank's shard of a blob that ranks divide: of what is filled, or came, as a whole.
  void add_shard(const Division& division, const caffe::FillerParameter& filler);

  /// ConfigError / ShapeError that name this layer.
  [[noreturn]] void bad_config(const std::string& what, const std::string& advice = "") const;
  [[noreturn]] void bad_shape(const std::string& what, const std::string& advice = "") const;

 private:
  LayerContext context_;
  std::unique_ptr<caffe::LayerParameter> parameter_;
  std::string name_;
  std::vector<std::shared_ptr<Blob>> blobs_;
  std::size_t parameters_added_ = 0;
  std::vector<bool> param_propagate_down_;
};

/// True if blobs of images, one at least, lie in blocks of channels. Others may be without pixels, N x C or less, which
/// lie alike in both layouts.
bool lie_in_blocks(const Layer::Blobs& blobs);

/// Fills `blob` (host-side, then copied) by Caffe's rules: constant, uniform, gaussian (with sparse), xavier, msra,
/// positive_unitball, bilinear; `key` names the stream of random numbers. Throws ConfigError.
void fill(Blob& blob, const caffe::FillerParameter& filler, std::uint64_t key);

}  // namespace cortado
