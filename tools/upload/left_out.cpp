#include "tools/upload/left_out.hpp"

#include <algorithm>
#include <utility>

namespace traceagent::tools {

namespace {

constexpr std::pair<const char*, const char*> remedies[] = {
    {not_there,
     "not there any more when it was to be uploaded: leave it to output.keep to remove what has "
     "arrived"},
    {of_another_run,
     "files of another run have their names: give each run an output.folder of its own"},
    {written_again,
     "a later cycle was written over it before it was uploaded: name {batch} in output.filename"}};

std::string newest_run(const Journal& journal) {
  const auto& uploads = journal.uploads();
  const auto newest = std::find_if(uploads.rbegin(), uploads.rend(),
                                   [](const Upload& each) { return !each.run.empty(); });
  return newest == uploads.rend() ? "" : newest->run;
}

}  // namespace

std::string from_to(const Upload& upload) { return upload.file + " -> " + upload.where(); }

LeftOut::LeftOut(const Journal& journal) {
  const std::string run = newest_run(journal);
  for (const Upload& each : journal.uploads()) {
    // Those that others leave out (upload.queue, --forget) have another reason, or none.
    const bool is_ours = std::any_of(std::begin(remedies), std::end(remedies),
                                     [&](const auto& cause) { return each.why == cause.first; });
    if (is_ours && each.is_left_out && !each.is_done && !run.empty() && each.run == run) {
      add(each, each.why);
    }
  }
}

void LeftOut::add(const Upload& upload, const std::string& why) {
  Files& files = causes_[why];
  if (files.count++ == 0) files.first = from_to(upload);
}

std::string LeftOut::lines() const {
  std::string lines;
  for (const auto& [why, remedy] : remedies) {
    const auto at = causes_.find(why);
    if (at == causes_.end()) continue;
    const std::uint64_t others = at->second.count - 1;
    lines += at->second.first;
    if (others != 0) lines += " and " + std::to_string(others) + " more";
    lines += std::string(": left out: ") + remedy + "\n";
  }
  return lines;
}

}  // namespace traceagent::tools
