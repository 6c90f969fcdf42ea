#include "tests/sim/engine/script.hpp"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/rank.hpp"

namespace simgpu {
namespace {

using Readers = std::map<std::string, std::function<void(const YAML::Node&)>>;

double with_unit(const YAML::Node& node, const std::map<std::string, double>& units) {
  const auto text = node.as<std::string>();
  std::size_t used = 0;
  const double number = std::stod(text, &used);
  const std::string unit = text.substr(std::min(text.find_first_not_of(' ', used), text.size()));
  if (unit.empty()) {
    return number;
  }
  const auto found = units.find(unit);
  if (found == units.end()) {
    throw std::runtime_error("unknown unit: " + text);
  }
  return number * found->second;
}

std::int64_t time_ns(const YAML::Node& node) {
  return static_cast<std::int64_t>(
      with_unit(node, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}));
}

double size_bytes(const YAML::Node& node) {
  return with_unit(node, {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}});
}

double bandwidth(const YAML::Node& node) { return with_unit(node, {{"MB/s", 1e6}, {"GB/s", 1e9}}); }

// Every key has its reader; an unknown key is an error, so that a misspelt fault cannot pass a
// test.
void read_map(const YAML::Node& node, const Readers& readers) {
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    const auto reader = readers.find(key);
    if (reader == readers.end()) {
      throw std::runtime_error("unknown key: " + key);
    }
    reader->second(entry.second);
  }
}

void read_kernels(const YAML::Node& node, Script& script) {
  for (const auto& entry : node) {
    const auto pattern = entry.first.as<std::string>();
    if (pattern == "default") {
      script.kernel_ns = time_ns(entry.second);
    } else {
      script.kernels.emplace_back(pattern, time_ns(entry.second));
    }
  }
}

void read_link(const YAML::Node& node, Script& script) {
  const auto ends = node["ranks"].as<std::pair<int, int>>();
  script.slow_links.push_back({ends.first, ends.second, node["factor"].as<double>()});
}

bool concerns(const YAML::Node& node, int rank) {
  return !node["rank"] || node["rank"].as<int>() == rank;
}

void read_error(const YAML::Node& node, Script& script) {
  CallError error;
  error.function = node["function"].as<std::string>();
  error.call = node["call"] ? node["call"].as<std::uint64_t>() : 1;
  error.code = node["code"] ? node["code"].as<int>() : 999;
  script.errors.push_back(error);
}

void read_taken(const YAML::Node& node, Script& script) {
  Taken taken;
  taken.from_ns = node["from"] ? time_ns(node["from"]) : 0;
  taken.until_ns = node["until"] ? time_ns(node["until"]) : -1;
  taken.attempts = node["attempts"] ? node["attempts"].as<std::uint64_t>() : 0;
  script.cupti.taken.push_back(taken);
}

void read_fault(const YAML::Node& node, int rank, Script& script) {
  const auto for_rank = [rank](auto reader) {
    return [rank, reader](const YAML::Node& fault) {
      if (concerns(fault, rank)) {
        reader(fault);
      }
    };
  };
  read_map(
      node,
      {{"slow_rank",
        for_rank([&](auto& f) { script.slow_factor = f["factor"].template as<double>(); })},
       {"slow_link", [&](auto& f) { read_link(f, script); }},
       {"never_arrives", for_rank([&](auto& f) {
          script.never_arrives_from = f["from_collective"].template as<std::int64_t>();
        })},
       {"differs", for_rank([&](auto& f) {
          script.differs_at = f["collective"].template as<std::int64_t>();
        })},
       {"skewed_clock", for_rank([&](auto& f) { script.clock_offset_ns = time_ns(f["offset"]); })},
       {"error", for_rank([&](auto& f) { read_error(f, script); })},
       {"cupti_taken", for_rank([&](auto& f) { read_taken(f, script); })},
       {"cupti_refused", for_rank([&](auto&) { script.cupti.refused = true; })},
       {"cupti_of_13_0", for_rank([&](auto&) { script.cupti.is_of_13_0 = true; })},
       {"cupti_drops",
        for_rank([&](auto& f) { script.cupti.dropped_share = f["share"].template as<double>(); })},
       {"cupti_untimed",
        for_rank([&](auto& f) { script.cupti.untimed_share = f["share"].template as<double>(); })},
       {"context_ends_at_exit", for_rank([&](auto&) { script.cupti.context_ends_at_exit = true; })},
       {"cupti_slow_callbacks",
        for_rank([&](auto& f) { script.cupti.callbacks_take_ns = time_ns(f["time"]); })},
       {"cupti_requests_in_launches",
        for_rank([&](auto&) { script.cupti.requests_in_launches = true; })},
       {"cupti_buffers_at_once", for_rank([&](auto& f) {
          script.cupti.buffers_at_once = f["count"].template as<std::size_t>();
        })}});
}

void read_copies(const YAML::Node& node, Script& script) {
  read_map(node, {{"latency", [&](auto& n) { script.copy_latency_ns = time_ns(n); }},
                  {"host_to_device", [&](auto& n) { script.host_to_device = bandwidth(n); }},
                  {"device_to_host", [&](auto& n) { script.device_to_host = bandwidth(n); }},
                  {"device_to_device", [&](auto& n) { script.device_to_device = bandwidth(n); }}});
}

void read_nccl(const YAML::Node& node, Script& script) {
  read_map(node, {{"latency", [&](auto& n) { script.nccl_latency_ns = time_ns(n); }},
                  {"bandwidth", [&](auto& n) { script.nccl_bandwidth = bandwidth(n); }},
                  {"launch_delay", [&](auto& n) { script.nccl_launch_delay_ns = time_ns(n); }},
                  {"plugin_version",
                   [&](auto& n) { script.nccl_plugin_version = n.template as<int>(); }}});
}

void read_concurrent(const YAML::Node& node, Script& script) {
  read_map(node,
           {{"graphs", [&](auto& n) { script.concurrent_graphs = n.template as<bool>(); }},
            {"kernels", [&](auto& n) { script.concurrent_kernels = n.template as<double>(); }}});
}

void read_all(const YAML::Node& node, int rank, Script& script) {
  read_map(
      node,
      {{"devices", [&](auto& n) { script.devices = n.template as<int>(); }},
       {"device_memory",
        [&](auto& n) { script.device_memory_bytes = static_cast<std::uint64_t>(size_bytes(n)); }},
       {"kernels", [&](auto& n) { read_kernels(n, script); }},
       {"copies", [&](auto& n) { read_copies(n, script); }},
       {"nccl", [&](auto& n) { read_nccl(n, script); }},
       {"concurrent", [&](auto& n) { read_concurrent(n, script); }},
       {"faults", [&](auto& n) {
          for (const auto& fault : n) {
            read_fault(fault, rank, script);
          }
        }}});
}

}  // namespace

std::int64_t Script::kernel_duration_ns(std::string_view name) const {
  const std::string text(name);
  const auto hit = std::find_if(kernels.begin(), kernels.end(), [&](const auto& row) {
    return fnmatch(row.first.c_str(), text.c_str(), 0) == 0;
  });
  const std::int64_t plain_ns = hit == kernels.end() ? kernel_ns : hit->second;
  return static_cast<std::int64_t>(static_cast<double>(plain_ns) * slow_factor);
}

double Script::link_factor(int from, int to) const {
  const auto hit = std::find_if(slow_links.begin(), slow_links.end(), [=](const SlowLink& link) {
    return (link.first == from && link.second == to) || (link.first == to && link.second == from);
  });
  return hit == slow_links.end() ? 1 : hit->factor;
}

Script read_script(const std::string& path, int rank) {
  Script script;
  script.read_ns = now_ns();
  try {
    read_all(YAML::LoadFile(path), rank, script);
  } catch (const std::exception& problem) {
    throw std::runtime_error(path + ": " + problem.what());
  }
  return script;
}

const Script& script() {
  static const Script* instance = [] {
    const char* path = std::getenv("SIMGPU_SCRIPT");
    if (path == nullptr || *path == '\0') {
      return new Script;
    }
    try {
      return new Script(read_script(path, rank_of_process()));
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "simgpu: bad script: %s\n", problem.what());
      std::abort();
    }
  }();
  return *instance;
}

}  // namespace simgpu
