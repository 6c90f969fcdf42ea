#pragma once
// Whether what was written is JSON, by a parser that is not ours.

#include <simdjson.h>

#include <string>

#include "tests/fuzz/scratch.hpp"

namespace traceagent::fuzz {

inline void expect_json(const std::string& path) {
  if (path.ends_with(".gz")) return;
  static simdjson::dom::parser parser;
  simdjson::dom::element document;
  const auto error = parser.load(path).get(document);
  if (error) fail(path + ": " + simdjson::error_message(error));
}

}  // namespace traceagent::fuzz
