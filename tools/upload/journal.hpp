#pragma once

#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

// A host's journal in a folder, read as it grows.
class Journal {
 public:
  // Throws std::runtime_error for a journal that another user could have written: what it names
  // would be uploaded, and run.
  Journal(std::string folder, std::string path);

  // What has been appended since.
  void read();
  // `must_last`: on the disk before it returns. Throws std::runtime_error where it cannot be
  // written.
  void append(const trace::JsonObject& record, bool must_last);

  std::vector<Upload>& uploads() noexcept { return uploads_; }
  const std::vector<Upload>& uploads() const noexcept { return uploads_; }
  std::string path_of(const Upload& upload) const { return folder_ + "/" + upload.file; }
  const std::string& path() const noexcept { return path_; }

 private:
  void take(std::string_view line);
  void replace_older(const Upload& upload);

  const std::string folder_, path_;
  std::uint64_t offset_ = 0;
  std::vector<Upload> uploads_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::string, std::size_t> latest_;  // of each file and target
};

// Those in the folder, by their paths.
std::vector<std::string> journals_in(const std::string& folder);

}  // namespace traceagent::tools
