#pragma once
#include <memory>
#include <string>

#include "tests/support/mpi_main.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test {

/// A folder of rank 0's that all ranks know. Made and destroyed collectively.
class SharedFolder {
 public:
  SharedFolder() {
    if (job().rank() == 0) folder_ = std::make_unique<TemporaryFolder>();
    path_ = job().replicas().from_root(folder_ ? folder_->path().string() : "");
  }
  ~SharedFolder() {  // nobody leaves before all are done
    double none = 0;
    job().replicas().sum(&none, 1);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  std::string path_;
};

}  // namespace cortado::test
