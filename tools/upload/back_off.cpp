#include "tools/upload/back_off.hpp"

#include <algorithm>
#include <random>

namespace traceagent::tools {

namespace {

using std::chrono::nanoseconds;
constexpr nanoseconds first_pause = std::chrono::milliseconds(200);
constexpr nanoseconds longest_pause = std::chrono::seconds(30);

// Half of it to all of it: many nodes that were refused at once do not come back at once.
nanoseconds with_jitter(nanoseconds pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> choose(pause.count() / 2, pause.count());
  return nanoseconds(choose(random));
}

// Who may write to one folder of a bucket need not be allowed to write to the next.
std::string folder_of(const Upload& upload) {
  if (upload.words.empty()) return upload.target.substr(0, upload.target.rfind('/'));
  std::string command = "exec:";
  for (const std::string& word : upload.words) command += word + '\n';
  return command;
}

}  // namespace

std::string place_of(const Upload& upload) {
  constexpr std::string_view s3_scheme = "s3://";
  const bool is_s3 = upload.words.empty() && upload.target.starts_with(s3_scheme);
  return is_s3 ? upload.target.substr(0, upload.target.find('/', s3_scheme.size()))
               : folder_of(upload);
}

void BackOff::note_success(const Upload& upload) {
  if (is_any()) failing_.erase(place_of(upload));
  if (!refusals_.empty()) refusals_.erase(folder_of(upload));
}

void BackOff::note_failure(const Upload& upload, Clock::time_point now) {
  const auto [at, is_first] = failing_.try_emplace(place_of(upload));
  if (!is_first) next_retry_ = now + first_pause;
  Failing& place = at->second;
  place.pause = std::clamp(place.pause * 2, first_pause, longest_pause);
  place.next_try = now + with_jitter(place.pause);
}

void BackOff::note_refusal(const Upload& upload) { ++refusals_[folder_of(upload)]; }

// Not after the first: by its name alone one may be refused for what says nothing of the others.
bool BackOff::is_closed(const Upload& upload) const {
  constexpr int most_refusals = 3;
  if (refusals_.empty()) return false;
  const auto at = refusals_.find(folder_of(upload));
  return at != refusals_.end() && at->second >= most_refusals;
}

bool BackOff::has_failed(const Upload& upload) const {
  return is_any() && failing_.count(place_of(upload)) != 0;
}

BackOff::Clock::time_point BackOff::next_try(const Upload& upload) const {
  if (!is_any()) return {};
  const auto at = failing_.find(place_of(upload));
  return at == failing_.end() ? Clock::time_point() : std::max(at->second.next_try, next_retry_);
}

}  // namespace traceagent::tools
