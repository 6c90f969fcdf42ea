#pragma once
// NCCL's header, and the types that older ones lack: the doors of later functions stand open all
// the same, since the library that the job loads need not be the one that the agent was built with.

#include <nccl.h>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 22, 0)
typedef struct ncclSimInfo ncclSimInfo_t;
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 27, 0)
typedef struct ncclWindow* ncclWindow_t;
#endif
