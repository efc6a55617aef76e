/* What Cortado asks of the Sunway compilers' simd.h, so that its ports parse, link and multiply here: declarations
 * written from the public interface, over this compiler's vectors. A vector of floats takes as many floats in memory,
 * and its conversion, a cast there, is a function here. */
#pragma once
typedef float floatv4 __attribute__((vector_size(16)));
typedef double doublev4 __attribute__((vector_size(32)));
typedef float floatv8 __attribute__((vector_size(32)));
typedef double doublev8 __attribute__((vector_size(64)));

/* Memory need not be aligned: simd_loadu and simd_storeu. */
#define simd_loadu(v, p) __builtin_memcpy(&(v), (p), sizeof(v))
#define simd_storeu(v, p) __builtin_memcpy((p), &(v), sizeof(v))
/* One element in all lanes: by a load, or from a register. */
#define simd_loade(v, p) ((v) = *(p) - (__typeof__(v)){0})
#define simd_vcpyfs(x) ((x) - (floatv8){0})
#define simd_vcpyfd(x) ((x) - (doublev8){0})
#define simd_vmad(a, b, c) ((a) * (b) + (c))
#define simd_vmas(a, b, c) ((a) * (b) + (c))
#define port_widened(v) __builtin_convertvector(v, doublev4)
#define port_narrowed(v) __builtin_convertvector(v, floatv4)

/* Register communication: what the compiler turns into putr, putc, getr, getc. */
void simd_putr(doublev4 value, int destination);
void simd_putc(doublev4 value, int destination);
doublev4 simd_getr(doublev4 value);
doublev4 simd_getc(doublev4 value);
