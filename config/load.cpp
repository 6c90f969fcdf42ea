#include "config/option_keys.hpp"
#include "config/option_setter.hpp"
#include "config/options.hpp"
#include "config/sources.hpp"

namespace traceagent::config {

Loaded load_text(std::string_view path, std::string_view text, const Environment& environment) {
  Loaded loaded;
  loaded.config_path = path;
  OptionSetter setter(loaded);
  set_from_yaml(setter, path, text);
  set_from_environment(setter, environment);
  setter.check_whole();
  return loaded;
}

Loaded load(const Environment& environment) {
  Loaded loaded;
  loaded.config_path = environment.get(config_variable).value_or("");
  OptionSetter setter(loaded);
  if (!loaded.config_path.empty()) set_from_file(setter, loaded.config_path);
  set_from_environment(setter, environment);
  setter.check_whole();
  return loaded;
}

}  // namespace traceagent::config
