#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// Whether a file ends as ours do (document.hpp): one that was cut while it was copied does not.
// Only its end is read; of a gzip file the last member, or all where that is longer than our own
// are. Throws std::bad_alloc.
bool ends_whole(const std::string& path);

// Whether nothing of a file of ours is cut, damaged or out of order. It is read from its beginning
// to its end, as by the next. Throws std::bad_alloc.
bool is_undamaged(const std::string& path);

// How many events can be read of a file of ours. Throws std::bad_alloc.
std::uint64_t readable_events(const std::string& path);

// Whether a merged file is undamaged and, as it says itself, was made of whole files: what its
// writers had lost before is no matter. Throws std::bad_alloc.
bool holds_all_of_its_sources(const std::string& path);
// The names of the cut or damaged files of which a merged file says that it was made; nothing where
// it is cut or damaged itself. It is read to its end. Throws std::bad_alloc.
std::optional<std::vector<std::string>> cut_files_of(const std::string& path);
std::string without_gz(std::string name);
// Whether it was made of whole files, by its "traceagent" object.
bool is_made_of_whole_files(std::string_view metadata);

}  // namespace traceagent::trace
