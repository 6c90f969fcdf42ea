#pragma once
// The functions of CUPTI that we use, bound one by one: a library of another version may lack some.
// Types are the ABI's, not the header's: no struct or enumeration of a certain version is needed.

#include <cstddef>
#include <cstdint>

namespace traceagent::device {

using CuptiResult = int;
namespace cupti_result {
inline constexpr CuptiResult success = 0;
inline constexpr CuptiResult max_limit_reached = 12;  // no more records; before CUDA 11.x: taken
inline constexpr CuptiResult not_compatible = 14;
inline constexpr CuptiResult not_initialised = 15;
inline constexpr CuptiResult virtualised_device = 33;
inline constexpr CuptiResult insufficient_privileges = 35;
inline constexpr CuptiResult multiple_subscribers = 39;
inline constexpr CuptiResult virtualised_insufficient_privileges = 40;
// Ours, of what would come of going on.
inline constexpr CuptiResult other_clock = -1;
}  // namespace cupti_result

namespace cupti_domain {
inline constexpr int driver = 1;
inline constexpr int runtime = 2;
inline constexpr int resource = 3;
}  // namespace cupti_domain
inline constexpr std::uint32_t context_destroy_starting = 2;  // callback id in the resource domain
inline constexpr std::uint32_t flush_forced = 1;
inline constexpr int system_thread_ids = 1;

using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
using CompleteBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                std::size_t bytes, std::size_t valid_bytes);
using Callback = void (*)(void* user, int domain, std::uint32_t id, const void* data);

// FUNCTION(member, symbol, parameters): nullptr where the library has none.
#define TRACEAGENT_CUPTI_FUNCTIONS(FUNCTION)                                                      \
  FUNCTION(get_version, "cuptiGetVersion", (std::uint32_t*))                                      \
  FUNCTION(get_result_string, "cuptiGetResultString", (CuptiResult, const char**))                \
  FUNCTION(subscribe, "cuptiSubscribe", (void** subscriber, Callback, void* user))                \
  FUNCTION(unsubscribe, "cuptiUnsubscribe", (void* subscriber))                                   \
  FUNCTION(enable_callback, "cuptiEnableCallback",                                                \
           (std::uint32_t enable, void* subscriber, int domain, std::uint32_t id))                \
  FUNCTION(get_callback_name, "cuptiGetCallbackName",                                             \
           (int domain, std::uint32_t id, const char**))                                          \
  FUNCTION(register_callbacks, "cuptiActivityRegisterCallbacks", (RequestBuffer, CompleteBuffer)) \
  FUNCTION(enable, "cuptiActivityEnable", (std::uint32_t kind))                                   \
  FUNCTION(disable, "cuptiActivityDisable", (std::uint32_t kind))                                 \
  FUNCTION(enable_runtime_api, "cuptiActivityEnableRuntimeApi", (std::uint32_t id, std::uint8_t)) \
  FUNCTION(enable_driver_api, "cuptiActivityEnableDriverApi", (std::uint32_t id, std::uint8_t))   \
  FUNCTION(enable_all_sync_records, "cuptiActivityEnableAllSyncRecords", (std::uint8_t))          \
  FUNCTION(set_thread_id_type, "cuptiSetThreadIdType", (int))                                     \
  FUNCTION(get_thread_id_type, "cuptiGetThreadIdType", (int*))                                    \
  FUNCTION(get_timestamp, "cuptiGetTimestamp", (std::uint64_t * ns))                              \
  FUNCTION(next_record, "cuptiActivityGetNextRecord",                                             \
           (std::uint8_t * buffer, std::size_t valid_bytes, void** record))                       \
  FUNCTION(flush_all, "cuptiActivityFlushAll", (std::uint32_t flag))                              \
  FUNCTION(get_dropped, "cuptiActivityGetNumDroppedRecords",                                      \
           (void* context, std::uint32_t stream, std::size_t*))

struct CuptiFunctions {
#define TRACEAGENT_MEMBER(member, symbol, parameters) CuptiResult(*member) parameters = nullptr;
  TRACEAGENT_CUPTI_FUNCTIONS(TRACEAGENT_MEMBER)
#undef TRACEAGENT_MEMBER

  // What nothing goes without.
  bool usable() const noexcept {
    return subscribe != nullptr && unsubscribe != nullptr && register_callbacks != nullptr &&
           enable != nullptr && disable != nullptr && next_record != nullptr &&
           flush_all != nullptr;
  }
};

}  // namespace traceagent::device
