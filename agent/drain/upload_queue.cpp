#include "agent/drain/upload_queue.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "agent/drain/file_names.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/trace/journal_room.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/upload_journal.hpp"
#include "config/name_template.hpp"
#include "config/remote_target.hpp"

namespace traceagent::drain {
namespace {

std::optional<std::string> text_option(const ring::Ring& ring, std::string_view key) {
  const std::string_view options = ring.name(ring.header().identity.options_json);
  const auto escaped = trace::string_member(options, key);
  return escaped ? std::optional(trace::unescaped(*escaped)) : std::nullopt;
}

bool wants_merge(const ring::Ring& ring) {
  return text_option(ring, "merge.mode") != "off" && ring.header().identity.merged_name != 0;
}

bool is_any_named(const std::string& name_template, std::initializer_list<const char*> wanted) {
  const std::vector<std::string> names = config::variables_in(name_template);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  });
}

// What tells processes apart may be neither in the target nor in the name that is put to it: the
// last would have the file of all, and `output.keep` would remove the others' as if they were safe.
// Folders may be each one's own, a target never is. What to name then; empty: nothing.
std::string missing_variable(const ring::Ring& ring, const std::string& remote,
                             const std::string& name_option) {
  const ring::IdentityBlock& identity = ring.header().identity;
  const bool are_ranks = name_option == "output.filename";
  const bool are_nodes = identity.world_size > identity.local_world_size;
  const auto own_name = config::is_trace_name(remote) ? "" : text_option(ring, name_option);
  if (!own_name) return {};  // a ring that does not say
  const auto is_named = [&](const char* variable) {
    return is_any_named(remote, {variable}) || is_any_named(*own_name, {variable});
  };
  if (is_named("rank")) return {};
  if (are_ranks && identity.local_world_size > 1 && !is_named("local_rank")) return "{rank}";
  return are_nodes && !is_named("node_rank") ? "{node_rank}" : std::string();
}

trace::JsonObject record_of(const ring::Ring& ring, const char* kind, const std::string& name,
                            const config::RemoteTarget& target) {
  const ring::IdentityBlock& identity = ring.header().identity;
  const std::string_view options = ring.name(identity.options_json);
  const std::int64_t keep = trace::integer_member(options, "output.keep").value_or(-1);
  trace::JsonObject record;
  record.add("queue", trace::new_upload_id()).add("file", name);
  if (target.words.empty()) {
    record.add("target", target.place);
  } else {
    record.add("words", target.words);
  }
  record.add("kind", kind)
      .add("run", ring.name(identity.run_key))
      .add("process", identity.trace_pid)
      .add("keep", keep)
      .add("merge", wants_merge(ring));
  if (keep >= 0) record.add("index", index_stem(ring));
  return record;
}

struct Queued {
  const char* option;
  const char* kind;
  const char* name_option;
  const config::NameVariables& variables;
  std::string usual_path;  // where nobody else has taken the name
};

// Without a record: the option is not set.
UploadRequest request_of(const ring::Ring& ring, const Queued& queued, const std::string& path) {
  UploadRequest request{path, queued.option, {}, {}};
  const std::optional<std::string> remote = text_option(ring, queued.option);
  if (!remote) return request;
  const ring::IdentityBlock& identity = ring.header().identity;
  const std::string prefix = output_folder(ring) + "/";
  const std::string what = std::string(queued.option) + ": ";
  if (!path.starts_with(prefix)) {
    request.problem = what + path + ": it is not in output.folder";
    return request;
  }
  const std::string name = path.substr(prefix.size());
  config::RemoteTarget target = config::remote_target(*remote, queued.variables, name);
  if (!target.problem.empty()) {
    request.problem = what + *remote + ": " + target.problem + ": " + path;
    return request;
  }
  const std::string missing = missing_variable(ring, *remote, queued.name_option);
  if (target.words.empty() && !missing.empty()) {
    request.problem = what + *remote + ": all " + (missing == "{rank}" ? "ranks" : "nodes") +
                      " would write the same: name " + missing + ": " + path;
    return request;
  }
  // A second claimant of the rank has its pid in the file's name, and so has who found the name
  // taken: also in a key of its own.
  const bool has_pid = identity.trace_pid != identity.rank || path != queued.usual_path;
  if (has_pid && !target.place.ends_with(name)) {
    target.place = with_pid(target.place, ring.header().owner_pid);
  }
  request.record = record_of(ring, queued.kind, name, target);
  return request;
}

// So that who uploads it can tell it from a later cycle's that has its name. 0: it is not there.
std::int64_t modified_ns(const std::string& path) noexcept {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return 0;
  return facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
}

}  // namespace

bool uploads_rank_files(const ring::Ring& ring) {
  return text_option(ring, "output.remote").has_value();
}

std::string upload_journal(const ring::Ring& ring) {
  return trace::journal_path(output_folder(ring),
                             std::string(ring.name(ring.header().identity.host)));
}

UploadRequest rank_file_upload(const ring::Ring& ring, const ring::Window& window,
                               const std::string& path) {
  UploadRequest request =
      request_of(ring,
                 {"output.remote", "rank", "output.filename", window_variables(ring, window),
                  rank_file_name(ring, window).path},
                 path);
  if (!request.record.empty()) request.record.add("modified", modified_ns(path));
  return request;
}

UploadRequest node_file_upload(const ring::Ring& ring, const std::string& path) {
  return request_of(ring,
                    {"output.merged_remote", "node", "output.merged", run_variables(ring),
                     node_file_name(ring).path},
                    path);
}

namespace {

std::string append_with_room(const ring::Ring& ring, std::string_view record) {
  const std::string journal = upload_journal(ring);
  std::string problem = trace::append_record(journal, record);
  if (problem.empty()) trace::reserve_room(journal);
  return problem;
}

}  // namespace

std::string append_upload(const ring::Ring& ring, const UploadRequest& request) {
  const std::string problem = append_with_room(ring, request.record.text());
  return problem.empty() ? "" : std::string(request.option) + ": " + problem;
}

std::string append_noted(const ring::Ring& ring, const std::string& record) {
  const std::string problem = append_with_room(ring, record);
  return problem.empty() ? "" : "upload: " + problem;
}

std::string file_of_record(const ring::Ring& ring, const std::string& record) {
  std::string file = trace::unescaped(trace::string_member(record, "file").value_or(""));
  // A damaged list's text goes to the user's terminal.
  std::replace_if(
      file.begin(), file.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return output_folder(ring) + "/" + file;
}

trace::QueuedFiles queued_files(const ring::Ring& ring) {
  return trace::QueuedFiles(upload_journal(ring), ring.header().identity.trace_pid);
}

std::string append_left_out(const ring::Ring& ring, const std::string& id) {
  trace::JsonObject record;
  return trace::append_record(upload_journal(ring), record.add("gone", id).add("left_out", true));
}

std::string append_removed(const ring::Ring& ring, const std::string& id) {
  return trace::append_record(upload_journal(ring), trace::JsonObject().add("removed", id));
}

namespace {

std::string queue(const ring::Ring& ring, const UploadRequest& request) {
  if (request.record.empty()) {
    return request.problem.empty() ? "" : request.problem + not_queued;
  }
  const std::string problem = append_upload(ring, request);
  return problem.empty() ? "" : problem + ": " + request.path + not_queued;
}

}  // namespace

std::string queue_rank_file(const ring::Ring& ring, const ring::Window& window,
                            const std::string& path) {
  return queue(ring, rank_file_upload(ring, window, path));
}

std::string queue_node_file(const ring::Ring& ring, const std::string& path) {
  return queue(ring, node_file_upload(ring, path));
}

}  // namespace traceagent::drain
