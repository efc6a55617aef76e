/* What Cortado asks of SW26010-Pro's slave.h; see simd.h. */
#pragma once
#include <stddef.h>
#include <sys/types.h>
#define __thread_local __thread
typedef int athread_rply_t;
int athread_get_id(int core);
int athread_dma_iget(void* destination, void* source, size_t bytes, athread_rply_t* reply);
int athread_dma_iput(void* destination, void* source, size_t bytes, athread_rply_t* reply);
int athread_dma_iget_stride(void* destination, void* source, size_t bytes, size_t block, ssize_t stride,
                            athread_rply_t* reply);
int athread_dma_iput_stride(void* destination, void* source, size_t bytes, size_t block, ssize_t stride,
                            athread_rply_t* reply);
int athread_dma_wait_value(athread_rply_t* reply, int value);
int athread_rma_iput(void* source, athread_rply_t* sent, size_t bytes, int cpe, void* destination,
                     athread_rply_t* came);
int athread_rma_row_ibcast(void* destination, void* source, size_t bytes, athread_rply_t* sent, athread_rply_t* came);
int athread_rma_col_ibcast(void* destination, void* source, size_t bytes, athread_rply_t* sent, athread_rply_t* came);
int athread_rma_wait_value(athread_rply_t* reply, int value);
int athread_ssync_array(void);
