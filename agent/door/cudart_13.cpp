// The wrappers of libcudart of CUDA 13; see cudart.inc.
#define CUDART_MAJOR 13
#include "agent/door/cudart.inc"
