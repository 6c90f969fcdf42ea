#include "tools/import/beginning_marks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "agent/trace/input_file.hpp"
#include "tools/import/content_mark.hpp"

namespace traceagent::tools {

namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;

class Beginnings {
 public:
  explicit Beginnings(const std::set<std::string>& marks) {
    for (const std::string& mark : marks) {
      if (const std::uint64_t bytes = bytes_of_mark(mark); bytes > 0) lengths_.emplace(bytes, mark);
    }
    next_ = lengths_.begin();
  }

  [[nodiscard]] bool is_done() const { return next_ == lengths_.end(); }

  // What comes next. A mark counts where something is behind what it is of: else this is no longer
  // than that.
  void add(const char* bytes, std::size_t size) {
    while (size > 0 && !is_done()) {
      if (next_->first == done_) {
        if (so_far_.text() == next_->second) found_.insert(next_->second);
        ++next_;
        continue;
      }
      const auto some =
          static_cast<std::size_t>(std::min<std::uint64_t>(size, next_->first - done_));
      so_far_.add(bytes, some);
      done_ += some;
      bytes += some;
      size -= some;
    }
  }

  [[nodiscard]] std::set<std::string>& found() { return found_; }

 private:
  using Lengths = std::set<std::pair<std::uint64_t, std::string>>;  // with their marks

  Lengths lengths_;
  Lengths::const_iterator next_;
  ContentMark so_far_;
  std::uint64_t done_ = 0;
  std::set<std::string> found_;
};

}  // namespace

std::set<std::string> marks_of_beginnings(const std::string& path,
                                          const std::set<std::string>& marks) {
  trace::InputFile file;
  if (marks.empty() || !file.open(path)) return {};
  std::vector<char> buffer(block_bytes);
  Beginnings of_text(marks);
  std::size_t size = 0;
  while (!of_text.is_done() &&
         file.read(buffer.data(), buffer.size(), size) == trace::InputFile::Status::data) {
    of_text.add(buffer.data(), size);
  }
  if (!file.is_gzip()) return of_text.found();
  // A file of several members, which has the mark of its bytes, may have had fewer.
  Beginnings of_bytes(marks);
  std::ifstream bytes(path, std::ios::binary);
  while (!of_bytes.is_done() && bytes) {
    bytes.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    of_bytes.add(buffer.data(), static_cast<std::size_t>(bytes.gcount()));
  }
  of_bytes.found().merge(of_text.found());
  return of_bytes.found();
}

}  // namespace traceagent::tools
