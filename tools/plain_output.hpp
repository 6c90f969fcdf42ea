#pragma once
// What tools print holds names of other people's files, kernels and ranges, and a terminal obeys
// what is in them: it goes through here.

#include <ostream>
#include <streambuf>
#include <string>

namespace traceagent::tools {

// Control characters but newline and tab become '?', those of two bytes (U+0080 to U+009F) too.
std::string as_plain_text(std::string text);

// For its life, what is written to the stream passes through as_plain_text(), a line at a time.
class PlainOutput : public std::streambuf {
 public:
  explicit PlainOutput(std::ostream& stream) : stream_(stream), real_(stream.rdbuf(this)) {}
  ~PlainOutput() override;
  PlainOutput(const PlainOutput&) = delete;
  PlainOutput& operator=(const PlainOutput&) = delete;

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  bool pass_on();

  std::ostream& stream_;
  std::streambuf* real_;
  std::string line_;
};

}  // namespace traceagent::tools
