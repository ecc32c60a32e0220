/* The forms of an epilogue: what acc = alpha * op(A) * op(B) + beta * C becomes before it is rounded to D, each with
 * its text in a descriptor. Part of every kernel's arguments, shared by host and device code, so it includes nothing.
 */
#ifndef TSR_CORE_EPILOGUE_H
#define TSR_CORE_EPILOGUE_H

#define TSR_EPILOGUE_MAP(X)               \
    X(TSR_EPILOGUE_BIAS, "acc + bias[n]") \
    X(TSR_EPILOGUE_BIAS_RELU, "relu(acc + bias[n])") /* relu(x) is x < 0 ? 0 : x, so NaN and -0 stay */

typedef enum tsr_epilogue {
    TSR_EPILOGUE_NONE, /* acc */
#define TSR_EPILOGUE_ENUM(name, text) name,
    TSR_EPILOGUE_MAP(TSR_EPILOGUE_ENUM)
#undef TSR_EPILOGUE_ENUM
        TSR_EPILOGUE_COUNT
} tsr_epilogue;

#endif
