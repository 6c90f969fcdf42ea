#include "agent/api/error_name.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "agent/api/packed_texts.hpp"

namespace traceagent::api {
namespace {

// Of one API: its codes, ascending, and a name for each.
template <std::size_t count, class Names>
class Errors {
 public:
  constexpr Errors(const std::int32_t (&codes)[count], const Names& names) noexcept
      : codes_(std::to_array(codes)), names_(names) {
    static_assert(Names::size() == count);
  }

  constexpr bool is_ascending() const noexcept {
    return std::is_sorted(codes_.begin(), codes_.end());
  }
  constexpr std::string_view name_of(std::int32_t code) const noexcept {
    const auto* found = std::lower_bound(codes_.begin(), codes_.end(), code);
    if (found == codes_.end() || *found != code) return {};
    return names_[static_cast<std::size_t>(found - codes_.begin())];
  }

 private:
  std::array<std::int32_t, count> codes_;
  Names names_;
};

#define ERROR(code, name) code,
constexpr std::int32_t cuda_runtime_codes[] = {
#include "agent/api/cuda_runtime_errors.def"
};
constexpr std::int32_t cuda_driver_codes[] = {
#include "agent/api/cuda_driver_errors.def"
};
constexpr std::int32_t nccl_codes[] = {
#include "agent/api/nccl_errors.def"
};
#undef ERROR

#define ERROR(code, name) std::string_view(#name),
constexpr Errors cuda_runtime_errors(cuda_runtime_codes, packed([] {
                                       return std::array{
#include "agent/api/cuda_runtime_errors.def"
                                       };
                                     }));
constexpr Errors cuda_driver_errors(cuda_driver_codes, packed([] {
                                      return std::array{
#include "agent/api/cuda_driver_errors.def"
                                      };
                                    }));
constexpr Errors nccl_errors(nccl_codes, packed([] {
                               return std::array{
#include "agent/api/nccl_errors.def"
                               };
                             }));
#undef ERROR
static_assert(cuda_runtime_errors.is_ascending() && cuda_driver_errors.is_ascending() &&
              nccl_errors.is_ascending());

}  // namespace

std::string_view error_name(std::string_view category, std::int32_t code) noexcept {
  if (category == "cuda_runtime") return cuda_runtime_errors.name_of(code);
  if (category == "cuda_driver") return cuda_driver_errors.name_of(code);
  return category == "nccl" ? nccl_errors.name_of(code) : std::string_view();
}

}  // namespace traceagent::api
