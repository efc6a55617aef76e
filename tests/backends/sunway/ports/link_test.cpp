// Linking this is the test: the MPE's side of a port, with every program of the tree by its slave name. Run, it looks
// whether each program has an entry.
#include <cstdio>

#include "backends/sunway/athread/processor.h"
#include "backends/sunway/programs.h"
#include "layers/relu/programs.h"

namespace cortado::sunway {
Programs all_programs();
}

using Relu = cortado::Elementwise<cortado::Rectified, cortado::To<float>, cortado::From<float>>;

int main(int count, char**) {
  auto programs = cortado::sunway::all_programs();
  if (programs.find(cortado::program_key<Relu>()).run == nullptr) {
    std::puts("the table has no ReLU");
    return 1;
  }
  if (count > 1) cortado::sunway::athread::make_processor(1, std::move(programs));  // needs the machine
  return 0;
}
