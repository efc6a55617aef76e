#include "parallel_io/sources.h"

#include "parallel_io/hdf5_list.h"

namespace cortado {

std::unique_ptr<BatchSource> Sources::open_hdf5_list(const std::string& list_file,
                                                     const std::vector<std::string>& fields) const {
  return std::make_unique<Hdf5List>(list_file, fields);
}

}  // namespace cortado
