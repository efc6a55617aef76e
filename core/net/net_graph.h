#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// A net while it is built. Passes (core/net/passes) rewrite it in three stages:
///
///      text         layer by layer           whole net
///   +--------+     +-----+-----+ - - +      +-----+-----+-----+
///   | layers |     | set | set |text |      | set | set | set |
///   | as text| --> | up  | up  |     |  --> | up  | up  | up  |  --> Net
///   +--------+     +-----+-----+ - - +      +-----+-----+-----+
///   filter,              ^ next:            pruning, epilogues,
///   casts, splits          subsampling,     gradients
///                          layouts
struct NetGraph {
  /// All arguments must outlive the graph. Throws ConfigError where options.without has a name that no pass has.
  NetGraph(const caffe::NetParameter& given, const NetOptions& options, const LayerContext& context);

  const NetOptions& options;

  caffe::NetParameter text;        ///< the net's text; the text of layers that are set up has no meaning
  int next = 0;                    ///< position in `text` of the layer that is set up next
  std::vector<Net::Entry> layers;  ///< set up so far, in forward order

  struct NamedBlob {
    std::unique_ptr<Blob> blob;
    std::string producer;  ///< layer; the last one that wrote it
    bool need_backward = false;
    double loss_weight = 0;
  };
  std::map<std::string, NamedBlob> blobs;  ///< tops of `layers`
  std::vector<std::string> blob_names;     ///< in the order in which they were made
  std::set<std::string> unused;            ///< blobs that no layer has consumed so far
  bool shares_gradients = false;           ///< gradients of blobs may lie in the same memory (pass gradient_memory)
  std::vector<Segment> recomputed;         ///< in order (pass recomputation)
  std::set<std::string> named;             ///< names of the layers of the text that the net was given

  /// The layer at `next`, made and not set up.
  Layer& coming();
  std::unique_ptr<Layer> take_coming();
  /// Puts a layer before the one at `next`, in whose place it comes next.
  void insert(const caffe::LayerParameter& layer);
  /// Renames a blob that no layer has consumed, but for layers that work in place.
  void rename_blob(const std::string& from, const std::string& to);
  /// The first layer behind `layer` that reads its only top, absorbed layers left out. Returns the number of layers if
  /// none reads it.
  std::size_t reader_of(std::size_t layer) const;
  /// True if layer `reader` works in place on the only top of layer `maker`, and does not weigh it as a loss.
  bool works_in_place(std::size_t reader, std::size_t maker) const;
  /// The layer that reads the only top of `maker` first, if it works in place on it; the number of layers if there is
  /// none, or `maker` is absorbed or has several tops.
  std::size_t worker_behind(std::size_t maker) const;
  /// Offers the work to the entry's layer. If the layer accepts, the entry keeps the work. Returns true if so.
  static bool offer(Net::Entry& entry, const Epilogue& work);
  /// Records that layer `by` has accepted the work of layer `of`.
  void absorb(std::size_t by, std::size_t of);

  bool is_off(const std::string& pass) const { return options.without.count(pass) != 0; }
  /// Makes this pass the one at work.
  void begin(const std::string& pass);
  /// Adds to the report of the pass at work, for people.
  void did(const std::string& what);
  /// Blobs that are seen from outside, once all layers are set up.
  std::set<const Blob*> seen() const;
  std::vector<Net::PassReport> reports;  ///< one for each pass, in their order

 private:
  const LayerContext& context_;
  std::vector<std::unique_ptr<Layer>> coming_;  // by position in `text`; nullptr means not made yet, or taken
  Net::PassReport* at_work_ = nullptr;
};

}  // namespace cortado
