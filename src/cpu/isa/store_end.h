/* Ends what an includer of store_tmpl.h defined for one stored type. */
#undef S
#undef SNAME
#undef S_LOAD
#undef S_LOAD_MASK
#undef S_STORE
#undef S_STORE_MASK
#undef S_WIDEN
