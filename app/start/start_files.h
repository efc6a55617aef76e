#pragma once
#include <string>
#include <vector>

#include "app/command_line/command_line.h"
#include "comm/same_start.h"
#include "parallel_io/sets/data_set.h"

namespace caffe {
class LayerParameter;
}

namespace cortado {

// What lies in files, to be compared over ranks. What cannot be read gives empty values, which compare with anything:
// who needs it says what is wrong.

/// Of a file's content; of one beyond 256 MB, of pieces from all of it. Empty: there is none that can be read.
std::string content_of(const std::string& file);

/// Of a data set: number of samples, shapes, and a digest of samples from all of it. `which` says it to people.
std::vector<StartField> data_fields(const std::string& which, const DataSet& set);

/// The data set that a layer reads, if it is of a type that does. `which` as above.
void add_data(const caffe::LayerParameter& layer, const std::string& which, std::vector<StartField>& fields);
/// The data set at a path.
void add_set(const std::string& path, const std::string& which, std::vector<StartField>& fields);
/// What `convert` reads: a data set, or a folder of files of any kind.
void add_source(const Options::Convert& convert, std::vector<StartField>& fields);

}  // namespace cortado
