#pragma once

#include <string>

namespace traceagent::tools {

// A text that is to take a file's place, under that file's name and ".new": on the disk as soon as
// it lives, gone with it unless it has another name by then. What another has put under that name,
// a link say, is removed, not written to: who else may write the output folder may plant one.
class NewFile {
 public:
  NewFile(const std::string& path, const std::string& text);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_on_disk() const noexcept { return is_on_disk_; }
  const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
  bool is_on_disk_ = false;
};

// Puts a text in a file's place; on a full disk into the file that is there.
void replace_file(const std::string& path, const std::string& text);

}  // namespace traceagent::tools
