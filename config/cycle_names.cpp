#include "config/cycle_names.hpp"

#include "config/name_template.hpp"

namespace traceagent::config {
namespace {

std::string name_of(std::string_view name_template, const Options& options, std::int64_t epoch,
                    std::int64_t batch_in_epoch) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  NameVariables variables;
  variables.epoch = epoch;
  variables.batch_in_epoch = batch_in_epoch;
  variables.batch = epoch * number(options.step_per_epoch) + batch_in_epoch;
  variables.sample = *variables.batch * number(options.step_samples);
  variables.sample_in_epoch = batch_in_epoch * number(options.step_samples);
  variables.token = *variables.batch * number(options.step_tokens);
  variables.token_in_epoch = batch_in_epoch * number(options.step_tokens);
  variables.total_wct = static_cast<double>(*variables.batch);
  variables.epoch_wct = static_cast<double>(batch_in_epoch);
  variables.batch_wct = 1.0;
  return format_name(name_template, variables).name;
}

// Whether the second cycle of an epoch comes to its first active step.
bool fits_twice(const Options& options) {
  const auto lead = options.schedule_wait + options.schedule_warmup;
  return options.schedule_skip_first + lead + options.schedule_active + lead <
         options.step_per_epoch;
}

}  // namespace

// Far into a run, where a format that shows too few digits shows its cycles alike.
bool cycles_share_name(std::string_view name_template, const Options& options) {
  constexpr std::int64_t epoch = 1234, batch = 1234567;
  const bool has_epochs = options.step_per_epoch != 0;
  const auto name = [&](std::int64_t epochs_on, std::int64_t batches_on) {
    return name_of(name_template, options, has_epochs ? epoch + epochs_on : 0, batch + batches_on);
  };
  const bool has_more_in_epoch =
      options.schedule_repeat != 1 && (!has_epochs || fits_twice(options));
  return (has_more_in_epoch && name(0, 0) == name(0, 1)) ||
         (has_epochs && name(0, 0) == name(1, 0));
}

}  // namespace traceagent::config
