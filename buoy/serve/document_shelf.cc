#include "buoy/serve/document_shelf.h"

#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/serve/http.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string index_path(const fs::path& log) {
  return fs::path(log).replace_extension(".db").string();
}

double seconds_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()) / 1000;
}

void write_whole(int file, const std::string& bytes, const fs::path& path) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(file, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
    written += static_cast<std::size_t>(n);
  }
}

// A folder's entry for a new file has to reach the disk too.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

bool good_name(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, good);
}

}  // namespace

LiveCollection::LiveCollection(const fs::path& log) : path_(log) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) fail("{}: cannot be opened: {}", path_.string(), std::strerror(errno));
  sync_folder(path_.parent_path());
  recover();
  if (fs::exists(index_path(path_)))
    index_ = std::make_unique<Collection>(index_path(path_), DatabaseAccess::kCreate);
  if (!index_ || !index_agrees()) make_index();
}

LiveCollection::~LiveCollection() {
  if (file_ >= 0) ::close(file_);
}

void LiveCollection::recover() {
  const std::string bytes = read_file(path_);
  const std::size_t end = bytes.rfind('\n') == bytes.npos ? 0 : bytes.rfind('\n') + 1;
  if (end < bytes.size() && (::ftruncate(file_, static_cast<off_t>(end)) != 0 || ::fsync(file_) != 0))
    fail("{}: its last line is cut off and cannot be dropped: {}", path_.string(), std::strerror(errno));
  Index line = 0;
  for (std::size_t begin = 0; begin < end; ++line) {
    const std::size_t stop = bytes.find('\n', begin);
    apply(
        parse_json(bytes.substr(begin, stop - begin), fmt::format("{}: line {}", path_.string(), line + 1)));
    begin = stop + 1;
  }
}

void LiveCollection::apply(const Json& event) {
  const JsonObject object(event, path_.string());
  const std::string kind = object.string("event"), id = object.string("id");
  time_ = std::max(time_, object.number_or("time", 0));
  if (kind == "ask") {
    ++questions_;
  } else if (kind == "remove") {
    documents_.erase(id);
  } else {
    LiveDocument& document = documents_[id];
    document.title = object.string_or("title", document.title);
    document.text = object.string("text");
    document.version = versions_[id] = object.integer_or("version", versions_[id] + 1);
  }
}

bool LiveCollection::index_agrees() const {
  if (index_->count() != std::ssize(documents_)) return false;
  return std::ranges::all_of(documents_, [&](const auto& entry) {
    const std::optional<Document> found = index_->get(entry.first);
    return found && found->title == entry.second.title && found->text == entry.second.text;
  });
}

void LiveCollection::make_index() {
  index_.reset();
  for (const char* ending : {"", "-wal", "-shm"}) fs::remove(index_path(path_) + ending);
  index_ = std::make_unique<Collection>(index_path(path_), DatabaseAccess::kCreate);
  std::vector<Document> all;
  for (const auto& [id, document] : documents_) all.push_back({id, document.title, document.text});
  if (!all.empty()) index_->add(all);
}

// The log first: what the index lacks after a crash, it gets when the log is read again.
void LiveCollection::append(Json event) {
  event["time"] = std::max(time_, seconds_now());
  write_whole(file_, event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", path_);
  if (::fdatasync(file_) != 0) fail("{}: does not reach the disk: {}", path_.string(), std::strerror(errno));
  apply(event);
}

Index LiveCollection::put(const std::string& given_id, const std::string& given_title,
                          const std::string& given_text) {
  const std::string id = repair_utf8(given_id).text, title = repair_utf8(given_title).text,
                    text = repair_utf8(given_text).text;
  if (id.empty()) fail_usage("the document's id is empty");
  if (text.empty()) fail_usage("the document's text is empty");
  const std::lock_guard lock(mutex_);
  const auto there = documents_.find(id);
  if (there != documents_.end() && there->second.title == title && there->second.text == text)
    return there->second.version;
  append({{"event", there == documents_.end() ? "add" : "change"},
          {"id", id},
          {"title", title},
          {"text", text}});
  const Document document{id, title, text};
  index_->add({&document, 1});
  return documents_[id].version;
}

bool LiveCollection::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!documents_.contains(id)) return false;
  append({{"event", "remove"}, {"id", id}});
  index_->remove({&id, 1});
  return true;
}

std::optional<LiveDocument> LiveCollection::get(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = documents_.find(id);
  return found == documents_.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, LiveDocument> LiveCollection::all() const {
  const std::lock_guard lock(mutex_);
  return documents_;
}

Index LiveCollection::questions() const {
  const std::lock_guard lock(mutex_);
  return questions_;
}

LiveCollection::Asked LiveCollection::ask(const std::string& given, Index top) {
  const std::string question = repair_utf8(given).text;
  if (question.empty()) fail_usage("the question is empty");
  const std::lock_guard lock(mutex_);
  Asked asked{.id = fmt::format("ask-{}", questions_ + 1), .passages = {}};
  append({{"event", "ask"}, {"id", asked.id}, {"question", question}});
  for (const Hit& hit : index_->search(question, top))
    asked.passages.push_back({hit.document.id, documents_.at(hit.document.id), hit.score});
  return asked;
}

std::string LiveCollection::log() const {
  const std::lock_guard lock(mutex_);
  return read_file(path_);
}

DocumentShelf::DocumentShelf(const fs::path& folder) : folder_(folder) {
  if (!fs::is_directory(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".jsonl" && good_name(name))
      collections_[name] = std::make_unique<LiveCollection>(entry.path());
  }
}

std::vector<std::string> DocumentShelf::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, collection] : collections_) names.push_back(name);
  return names;
}

LiveCollection& DocumentShelf::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = collections_.find(name);
  if (found == collections_.end()) fail_http(404, "collection {} is not here", quote(name));
  return *found->second;
}

LiveCollection& DocumentShelf::make(const std::string& name) {
  if (!good_name(name)) {
    fail_http(400, "name is {}, expected a to z, 0 to 9, - and _, at most 64 of them", quote(name));
  }
  const std::lock_guard lock(mutex_);
  if (collections_.contains(name)) fail_http(409, "collection {} is there already", quote(name));
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("{}: cannot be made a folder: {}", folder_.string(), error.message());
  return *(collections_[name] = std::make_unique<LiveCollection>(folder_ / (name + ".jsonl")));
}

}  // namespace buoy
