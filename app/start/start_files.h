#pragma once
#include <string>
#include <vector>

#include "comm/same_start.h"
#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace caffe {
class LayerParameter;
}

namespace cortado {

// The contents of files, as fields to compare over ranks. An unreadable file gives an empty value, which equals any.
// Its reader will report the error.

using StartFields = std::vector<StartField>;

/// Describes a file's content; beyond 256 MB, pieces from all of it. Empty where no file can be read.
std::string content_of(const std::string& file);
/// Describes the contents of files separated by commas.
std::string contents_of(const std::string& files);

/// Describes a data set: number of samples, shapes, a digest of labels and names where the format has them apart, and
/// one of samples: of all where they have 256 MB or less together (encoded ones: where they are 2048 or fewer), else of
/// 256 from all of the set. `which` names it to people.
StartFields data_fields(const std::string& which, const DataSet& set);

/// The request that decides which samples a layer gets. An empty source means that the layer reads no data set. It
/// points into the layer.
BatchRequest request_of(const caffe::LayerParameter& layer);
/// Adds the data set of a layer, if its type reads one. `which` as above.
void add_data(const caffe::LayerParameter& layer, const std::string& which, StartFields& fields);
/// Adds the data set at a path.
void add_set(const std::string& path, const OpenOptions& options, const std::string& which, StartFields& fields);
/// Adds names and sizes of the files in a folder.
void add_folder(const std::string& folder, const std::string& which, StartFields& fields);

}  // namespace cortado
