// Names us to NCCL as its profiler plugin, unless the user has one.

#include <strings.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/door/dlsym.hpp"
#include "agent/door/nccl_plugin.hpp"

namespace traceagent::door {
namespace {

constexpr char variable[] = "NCCL_PROFILER_PLUGIN";
// dlopen(nullptr): finds what a preloaded library exports, in every NCCL that has plugins (2.23
// on). Our own path would do as well, but children that shed the preload would still load us by it,
// and NCCL cuts a name at 255 characters.
constexpr char any_loaded[] = "STATIC_PLUGIN";

enum class Plugin { none_named, ours, users, switched_off };
constinit std::atomic<Plugin> found{Plugin::none_named};

// NCCL's file of settings gives way to the environment: setting the variable would undo it.
bool names_a_plugin(const char* settings) noexcept {
  std::FILE* file = std::fopen(settings, "re");
  if (file == nullptr) return false;
  char line[1024];
  bool named = false;
  while (!named && std::fgets(line, sizeof line, file) != nullptr) {
    named = std::strncmp(line, variable, sizeof variable - 1) == 0;
  }
  std::fclose(file);
  return named;
}

bool settings_name_a_plugin() noexcept {
  char path[4096];
  const char* given = std::getenv("NCCL_CONF_FILE");
  const char* home = std::getenv("HOME");
  if (given != nullptr) {
    std::snprintf(path, sizeof path, "%s", given);
  } else {
    std::snprintf(path, sizeof path, "%s/.nccl.conf", home != nullptr ? home : "");
  }
  return names_a_plugin(path) || names_a_plugin("/etc/nccl.conf");
}

bool is_there(const char* folder, std::size_t length) noexcept {
  char path[4096];
  std::snprintf(path, sizeof path, "%.*s/libnccl-profiler.so", static_cast<int>(length), folder);
  return access(path, R_OK) == 0;
}

// What NCCL opens where no plugin is named. Looked for where administrators put it; one that only
// the loader's cache knows is passed over.
bool has_installed_plugin() noexcept {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  while (folders != nullptr && *folders != '\0') {
    const std::size_t length = std::strcspn(folders, ":;");
    if (length != 0 && length < 4000 && is_there(folders, length)) return true;
    folders += length;
    if (*folders != '\0') ++folders;
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64"}) {
    if (is_there(folder, std::strlen(folder))) return true;
  }
  return false;
}

Plugin look() noexcept {
  const char* named = std::getenv(variable);
  if (named == nullptr || named[0] == '\0') {
    if (settings_name_a_plugin() || has_installed_plugin()) return Plugin::users;
    return setenv(variable, any_loaded, 1) == 0 ? Plugin::ours : Plugin::none_named;
  }
  if (strcasecmp(named, "none") == 0) return Plugin::switched_off;
  return strcasecmp(named, any_loaded) == 0 ? Plugin::ours : Plugin::users;
}

}  // namespace

void offer_nccl_plugin() noexcept { found.store(look(), std::memory_order_relaxed); }

bool nccl_plugin_can_be_found() noexcept {
  switch (found.load(std::memory_order_relaxed)) {
    case Plugin::ours:
      return true;
    case Plugin::users:
      return dlsym_door_is_open();
    default:
      return false;
  }
}

}  // namespace traceagent::door
