/* ScaLAPACK cuts the K of its products at a block of its own, 32, whatever the matrices' blocks are. It asks this
 * function for it, which a program may define itself, or preload:
 *
 *     cc -O2 -shared -fPIC examples/scalapack_block.c -o block.so
 *     mpirun -np 4 env LD_PRELOAD=$PWD/block.so:/usr/local/lib/libtessera_blas.so.0 your_program
 *
 * 256 is the CPU engine's own block along K (docs/CPU.md); docs/DISTRIBUTED.md has what it brings. */
int pilaenv_(const int *context, const char *type, unsigned long type_length);

int pilaenv_(const int *context, const char *type, unsigned long type_length)
{
    (void)context;
    (void)type; /* 'S', 'D', 'C', 'Z', 'I' */
    (void)type_length;
    return 256;
}
