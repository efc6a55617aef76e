/* What Cortado asks of the Sunway compilers' simd.h, so that its ports parse and link here. Declarations written from
 * the public interface; nothing here computes as the machine does. */
#pragma once
typedef double doublev4 __attribute__((vector_size(32)));
#define simd_set_doublev4(a, b, c, d) ((doublev4){(a), (b), (c), (d)})
#define simd_store(v, p) ((p)[0] = (v)[0], (p)[1] = (v)[1], (p)[2] = (v)[2], (p)[3] = (v)[3])
/* Register communication: what the compiler turns into putr, putc, getr, getc. */
void simd_putr(doublev4 value, int destination);
void simd_putc(doublev4 value, int destination);
doublev4 simd_getr(doublev4 value);
doublev4 simd_getc(doublev4 value);
