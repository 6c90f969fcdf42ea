#include "config/options.hpp"

namespace traceagent::config {

std::span<const OptionRow> option_rows() noexcept {
  using namespace rule;
  static constexpr OptionRow rows[] = {
#define OPTION(key, field, type, initial, rule, alias, help) \
  {key, &Options::field, OptionType::type, rule, alias, help},
#include "config/options.def"
#undef OPTION
  };
  return rows;
}

Schedule schedule_of(const Options& options) {
  return {.skip_first = options.schedule_skip_first,
          .wait = options.schedule_wait,
          .warmup = options.schedule_warmup,
          .active = options.schedule_active,
          .repeat = options.schedule_repeat};
}

std::string environment_name(std::string_view key) {
  std::string name = "TRACEAGENT_";
  for (const char c : key) {
    if (c == '.') {
      name += '_';
    } else {
      name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return name;
}

}  // namespace traceagent::config
