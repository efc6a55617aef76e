/* What Cortado asks of athread.h, on the MPE; see simd.h. */
#pragma once
int athread_init(void);
int athread_spawn(void* function, void* argument);
int athread_join(void);
