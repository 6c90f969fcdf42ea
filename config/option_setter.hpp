#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"

namespace traceagent::config {

// Fills a Loaded: sets options from text, remembers where each came from, words the problems.
class OptionSetter {
 public:
  explicit OptionSetter(Loaded& loaded) : loaded_(loaded), origins_(option_rows().size()) {}

  // `where` is file:line or a variable. `names_key`: the problem must name the key, because
  // `where` does not.
  void set(const OptionRow& row, const std::string& where, bool names_key,
           std::optional<std::string_view> text);

  // skip_first=10,wait=5,warmup=1,active=3,repeat=2; what is not named stays as it is.
  void set_schedule(const std::string& where, std::string_view compact);

  // <what>: <where>: [<value>: ]<why>; <instead>
  void problem(std::string_view what, std::string_view where, std::string_view value,
               std::string_view why, std::string_view instead);

  // What stays in force when a new value is refused: "using the default 64MiB".
  std::string using_instead(const OptionRow& row) const;

  // After everything was set: what is wrong with the whole.
  void check_whole();

 private:
  void set_schedule_part(const std::string& where, std::string_view part);
  void check_schedule();
  void check_epoch();
  void check_names();
  void check_filename();
  bool check_keep();
  std::string loss_by_keep() const;
  void check_merged_remote();
  std::string no_node_file() const;
  void check_include();
  std::string& origin_of(const OptionRow& row);
  bool is_null(const OptionRow& row) const;

  Loaded& loaded_;
  std::vector<std::string> origins_;  // of each row; empty: the default
  bool is_remote_refused_ = false;    // output.remote's last value
  std::size_t left_out_ = 0;          // problems beyond the bound
};

}  // namespace traceagent::config
