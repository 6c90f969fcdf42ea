// What an NVTX tool that does nothing would put into its client's table.
#include <nvtx3/nvToolsExt.h>

extern "C" {

int emptyRangePush(const char*) { return NVTX_NO_PUSH_POP_TRACKING; }
int emptyRangePop() { return NVTX_NO_PUSH_POP_TRACKING; }
int emptyDomainRangePush(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {
  return NVTX_NO_PUSH_POP_TRACKING;
}
int emptyDomainRangePop(nvtxDomainHandle_t) { return NVTX_NO_PUSH_POP_TRACKING; }
}
