#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::tools {

// What a file begins with: states of one file have the same, and hardly any other two files.
class FirstEvents {
 public:
  static constexpr std::size_t most = 4;

  [[nodiscard]] bool are_all() const { return events_.size() == most; }
  // The next one that stands there and is no metadata, as its members stand there; without a time
  // it does not count.
  void add(std::string_view phase, std::string_view name, std::string_view ts);
  // See trace::begins_member. `base_ns`: that times count from which do not count from 1970
  // themselves; without it they tell nothing, and there are none.
  [[nodiscard]] std::string marks(std::optional<std::int64_t> base_ns) const;

 private:
  struct Event {
    std::int64_t ns = 0;
    std::string what;  // phase and name, whatever another program made of the rest
  };
  std::vector<Event> events_;
};

}  // namespace traceagent::tools
