// The wrappers of libcudart of CUDA 12; see cudart.inc.
#define CUDART_MAJOR 12
#include "agent/door/cudart.inc"
