/* What Cortado asks of SW26010's slave.h; see simd.h. */
#pragma once
#define __thread_local __thread
typedef enum { PE_MODE, BCAST_MODE, ROW_MODE, BROW_MODE, RANK_MODE } dma_mode;
typedef enum { ROW_SCOPE, COL_SCOPE, ARRAY_SCOPE } scope;
int athread_get_id(int core);
int athread_get(dma_mode mode, void* source, void* destination, int bytes, void* reply, char mask, int stride,
                int block);
int athread_put(dma_mode mode, void* source, void* destination, int bytes, void* reply, int stride, int block);
int athread_syn(scope which, int mask);
