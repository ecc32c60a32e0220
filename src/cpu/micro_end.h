/* Ends what an includer of micro_tmpl.h and store_tmpl.h defined for one compute type. */
#undef T
#undef NAME
#undef LANES
#undef V
#undef M
#undef V_ZERO
#undef V_SET1
#undef V_LOAD
#undef V_LOAD_MASK
#undef V_STORE
#undef V_STORE_MASK
#undef V_STREAM
#undef V_ADD
#undef V_MUL
#undef V_FMA
#undef V_SUM
#undef TRANSPOSE
