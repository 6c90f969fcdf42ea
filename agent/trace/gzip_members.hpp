#pragma once

#include <zlib.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "agent/event/held_memory.hpp"

namespace traceagent::trace {

// Compresses each piece of text into a gzip member of its own: a reader can begin at any member and
// members of several files can be put one after the other. Memory is allocated once.
class GzipMembers {
 public:
  explicit GzipMembers(int level);
  ~GzipMembers();
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }

  // `sink(const char* bytes, std::size_t size) -> bool` gets the member in pieces; false from it or
  // from zlib ends the member early and is returned.
  template <typename Sink>
  bool compress(std::string_view text, Sink sink) {
    if (!begin(text)) {
      return false;
    }
    bool more = true;
    while (more) {
      std::size_t size = 0;
      if (!next_piece(size, more) || !sink(output_.get(), size)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool begin(std::string_view text);
  bool next_piece(std::size_t& size, bool& more);

  z_stream stream_{};
  std::unique_ptr<char, event::HeldFree> output_;
  bool ready_ = false;
};

}  // namespace traceagent::trace
