#include "app/start/compiled_for.h"

namespace cortado {

#if defined(__AVX2__)
const int compiled_for_avx2 = 1;
#else
const int compiled_for_avx2 = 0;
#endif
#if defined(__AVX512F__)
const int compiled_for_avx512 = 1;
#else
const int compiled_for_avx512 = 0;
#endif
#if defined(__AVX512BF16__)
const int compiled_for_avx512_bf16 = 1;
#else
const int compiled_for_avx512_bf16 = 0;
#endif

}  // namespace cortado
