#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/net/layer.h"

namespace caffe {
class NetParameter;
}

namespace cortado {

/// Layer types by Caffe's names, and the answers of their classes. app fills one from layers/all_layers.h: no static
/// initialisers. Nothing else in core knows a layer type.
class LayerTable {
 public:
  /// A layer class as the table keeps it; see the functions of these names in Layer.
  struct Entry {
    std::unique_ptr<Layer> (*make)(const caffe::LayerParameter&, const LayerContext&);
    bool (*keeps_bf16)(const caffe::LayerParameter&);
    bool (*begins_bf16)(const caffe::LayerParameter&);
    PixelStride (*pixel_stride)(const caffe::LayerParameter&);
    void (*set_pixel_stride)(caffe::LayerParameter&, PixelStride);
    void (*divide_batch)(caffe::LayerParameter&, const BatchShare&);
  };

  template <class L>
  void add(const std::string& type) {
    entries_[type] = {[](const caffe::LayerParameter& p, const LayerContext& c) -> std::unique_ptr<Layer> {
                        return std::make_unique<L>(p, c);
                      },
                      &L::keeps_bf16,
                      &L::begins_bf16,
                      &L::pixel_stride,
                      &L::set_pixel_stride,
                      &L::divide_batch};
    if (L::role != Role::none) roles_[L::role] = type;
  }
  bool has(const std::string& type) const { return entries_.count(type) != 0; }
  /// Sorted.
  std::vector<std::string> types() const;
  /// The type that plays the role. Throws BugError where none does.
  const std::string& type_of(Role role) const;
  bool plays(const caffe::LayerParameter& parameter, Role role) const;

  /// The answers of the class of the parameter's type. Unknown types answer as Layer does.
  bool keeps_bf16(const caffe::LayerParameter& parameter) const;
  bool begins_bf16(const caffe::LayerParameter& parameter) const;
  PixelStride pixel_stride(const caffe::LayerParameter& parameter) const;
  void set_pixel_stride(caffe::LayerParameter& parameter, PixelStride stride) const;
  void divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) const;

  /// A line for each unknown layer type, with its layers and what to write instead; empty if there is none.
  std::string unknown_in(const caffe::NetParameter& net) const;
  /// Throws ConfigError naming the layer when the type is unknown.
  std::unique_ptr<Layer> make(const caffe::LayerParameter& parameter, const LayerContext& context) const;

 private:
  Entry entry_of(const caffe::LayerParameter& parameter) const;

  std::map<std::string, Entry> entries_;
  std::map<Role, std::string> roles_;
};

}  // namespace cortado
