#include "agent/counters/device_class.hpp"

#include <unistd.h>

#include <cerrno>

namespace traceagent::counters {
namespace {

// As a folder of /sys; a slash in it is an exclamation mark there.
std::string folder_name(std::string_view name) {
  std::string folder(name);
  for (char& c : folder) c = c == '/' ? '!' : c;
  return folder;
}

// 0: it is there; ENOENT: it is not; else nobody knows.
int look_for(const std::string& path) noexcept {
  if (access(path.c_str(), F_OK) == 0) return 0;
  return errno == ENOTDIR ? ENOENT : errno;
}

}  // namespace

// Partitions have no folder there, and what is made of other disks has no device.
ClassAnswer class_of_disk(const std::string& root, std::string_view name) {
  const std::string folder = root + "/sys/block/" + folder_name(name);
  const int device = look_for(folder + "/device");
  if (device == ENOENT) return {};
  if (device != 0) return {DeviceClass::none, device};
  // NVMe with several paths: the disk that is mounted is its subsystem's, which alone has a policy.
  // It counts what its paths count too, which are disks of their own in the same file.
  const int policy = look_for(folder + "/device/iopolicy");
  if (policy == ENOENT) return {DeviceClass::device, 0};
  return {DeviceClass::none, policy};
}

ClassAnswer class_of_interface(const std::string& root, std::string_view name) {
  if (name == "lo") return {};
  const std::string folder = root + "/sys/class/net/" + folder_name(name);
  const int device = look_for(folder + "/device");
  if (device == 0) {
    // Azure's: the synthetic interface counts what the real one below it does. A bond has no device
    // of its own, and counts nothing twice.
    const int master = look_for(folder + "/master/device");
    return master == ENOENT ? ClassAnswer{DeviceClass::device, 0}
                            : ClassAnswer{DeviceClass::none, master};
  }
  // Bridges, bonds and what else stands on other interfaces; they count where these do.
  for (const int found : {device, look_for(folder + "/bridge"), look_for(folder + "/bonding")}) {
    if (found != ENOENT) return {DeviceClass::none, found};
  }
  return {DeviceClass::interface, 0};
}

}  // namespace traceagent::counters
