/* Definitions of everything that the stub headers declare, so that the ports link. They are never called. */
#include <stdlib.h>
#define STUB(name) \
  void name(void); \
  void name(void) { abort(); }
STUB(athread_init)
STUB(athread_spawn)
STUB(athread_join)
STUB(athread_get)
STUB(athread_get_id)
STUB(athread_put)
STUB(athread_syn)
STUB(simd_getc)
STUB(simd_getr)
STUB(simd_putc)
STUB(simd_putr)
STUB(athread_dma_iget)
STUB(athread_dma_iget_stride)
STUB(athread_dma_iput)
STUB(athread_dma_iput_stride)
STUB(athread_dma_wait_value)
STUB(athread_rma_col_ibcast)
STUB(athread_rma_iput)
STUB(athread_rma_row_ibcast)
STUB(athread_rma_wait_value)
STUB(athread_ssync_array)
