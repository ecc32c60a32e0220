#include "lab/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
