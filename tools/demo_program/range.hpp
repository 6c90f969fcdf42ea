#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

namespace traceagent::demo {

/// An NVTX range for as long as the object lives; nothing when ranges are not wanted.
class Range {
 public:
  Range(bool wanted, const char* name, std::int64_t payload) : wanted_(wanted) {
    if (wanted_) {
      nvtxEventAttributes_t attributes{};
      attributes.version = NVTX_VERSION;
      attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
      attributes.message.ascii = name;
      attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      attributes.payload.llValue = payload;
      nvtxRangePushEx(&attributes);
    }
  }
  ~Range() {
    if (wanted_) {
      nvtxRangePop();
    }
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  bool wanted_;
};

}  // namespace traceagent::demo
