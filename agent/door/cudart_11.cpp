// The wrappers of libcudart of CUDA 11; see cudart.inc.
#define CUDART_MAJOR 11
#include "agent/door/cudart.inc"
