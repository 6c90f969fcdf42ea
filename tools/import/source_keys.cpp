#include "tools/import/source_keys.hpp"

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::tools {

namespace {

std::string key_of(std::string_view source) {
  const auto content = trace::string_member(source, "content");
  return content ? content_key(*content)
                 : source_key(trace::integer_member(source, "rank").value_or(0),
                              trace::integer_member(source, "baseTimeNanoseconds").value_or(0));
}

}  // namespace

// As a double has it: JavaScript has no other numbers.
std::string source_key(std::int64_t rank, std::int64_t base_ns) {
  return std::to_string(rank) + " " + std::to_string(static_cast<double>(base_ns));
}

std::string content_key(std::string_view content) {
  return "content " + std::string(content.substr(0, content.find('#')));
}

std::vector<std::string> source_keys(std::string_view sources) {
  std::vector<std::string> keys;
  trace::for_each_element(sources,
                          [&keys](std::string_view source) { keys.push_back(key_of(source)); });
  return keys;
}

std::vector<std::string> source_keys(const trace::TraceHeader& header) {
  if (header.sources.empty()) return {source_key(header.rank, header.base_ns)};
  std::vector<std::string> keys;
  for (const std::string& source : header.sources) keys.push_back(key_of(source));
  return keys;
}

namespace {

trace::JsonObject source_object(std::string_view name, std::int64_t rank, std::int64_t base_ns) {
  return trace::JsonObject()
      .add("name", trace::JsonValue::raw("\"" + std::string(name) + "\""))
      .add("rank", rank)
      .add("baseTimeNanoseconds", base_ns);
}

std::string normal(std::string_view source) {
  trace::JsonObject object =
      source_object(trace::string_member(source, "name").value_or(""),
                    trace::integer_member(source, "rank").value_or(0),
                    trace::integer_member(source, "baseTimeNanoseconds").value_or(0));
  const auto content = trace::string_member(source, "content");
  if (content) {
    object.add("content", trace::JsonValue::raw("\"" + std::string(*content) + "\""));
  }
  for (const std::string_view name : trace::imported_members) {
    const auto value = trace::member(source, name);
    if (value) object.add(name, trace::JsonValue::raw(std::string(*value)));
  }
  const auto corrected = trace::string_member(source, trace::corrected_member);
  if (corrected) {
    object.add(trace::corrected_member,
               trace::JsonValue::raw("\"" + std::string(*corrected) + "\""));
  }
  return object.text();
}

}  // namespace

std::string normal_source(std::string_view name, std::int64_t rank, std::int64_t base_ns) {
  return source_object(name, rank, base_ns).text();
}

std::vector<std::string> normal_sources(std::string_view sources) {
  std::vector<std::string> all;
  trace::for_each_element(sources,
                          [&all](std::string_view source) { all.push_back(normal(source)); });
  return all;
}

}  // namespace traceagent::tools
