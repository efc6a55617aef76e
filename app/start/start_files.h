#pragma once
#include <string>
#include <vector>

#include "comm/same_start.h"
#include "parallel_io/sets/data_set.h"

namespace caffe {
class LayerParameter;
}

namespace cortado {

// What lies in files, to be compared over ranks. What cannot be read gives empty values, which compare with anything:
// who needs it says what is wrong.

using StartFields = std::vector<StartField>;

/// Describes a file's content; of one beyond 256 MB, pieces from all of it. Empty where no file can be read.
std::string content_of(const std::string& file);
/// Describes the contents of files separated by commas.
std::string contents_of(const std::string& files);

/// Describes a data set: number of samples, shapes, and a digest of samples from all of it. `which` names it to people.
StartFields data_fields(const std::string& which, const DataSet& set);

/// Adds the data set that a layer reads, if it is of a type that does. `which` as above.
void add_data(const caffe::LayerParameter& layer, const std::string& which, StartFields& fields);
/// Adds the data set at a path.
void add_set(const std::string& path, const OpenOptions& options, const std::string& which, StartFields& fields);
/// Adds names and sizes of the files in a folder.
void add_folder(const std::string& folder, const std::string& which, StartFields& fields);

}  // namespace cortado
