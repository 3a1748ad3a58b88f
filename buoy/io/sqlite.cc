#include "buoy/io/sqlite.h"

#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

#include "buoy/base/error.h"

namespace buoy {

struct SqliteConnection {
  std::filesystem::path path;
  std::chrono::milliseconds busy_timeout{};
  sqlite3* handle = nullptr;

  SqliteConnection() = default;
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;
  ~SqliteConnection() { sqlite3_close(handle); }
};

namespace {

namespace fs = std::filesystem;

// What went wrong, in the words of whoever has to mend it.
[[noreturn]] void fail_at(const SqliteConnection& connection) {
  const std::string place = connection.path.string();
  const int code = sqlite3_errcode(connection.handle);
  const int system_error = sqlite3_system_errno(connection.handle);
  const std::string reason = system_error == 0 ? "" : fmt::format(" ({})", std::strerror(system_error));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail("{}: is locked by another writer; gave up after {} ms", place, connection.busy_timeout.count());
    case SQLITE_NOTADB:
      fail("{}: is not an SQLite database", place);
    case SQLITE_CORRUPT:
      fail("{}: is damaged: {}", place, sqlite3_errmsg(connection.handle));
    case SQLITE_FULL:
      fail("{}: cannot write: the disk is full", place);
    case SQLITE_READONLY:
      fail("{}: cannot write: the file or its folder is read-only", place);
    case SQLITE_CANTOPEN:
      fail("{}: cannot open{}", place, reason);
    default:
      fail("{}: {}{}", place, sqlite3_errmsg(connection.handle), reason);
  }
}

void require_ok(const SqliteConnection& connection, int result) {
  if (result != SQLITE_OK) fail_at(connection);
}

int open_flags(DatabaseAccess access) {
  switch (access) {
    case DatabaseAccess::kRead:
      return SQLITE_OPEN_READONLY;
    case DatabaseAccess::kWrite:
      return SQLITE_OPEN_READWRITE;
    case DatabaseAccess::kCreate:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return 0;
}

// SQLite says "unable to open" for all of these.
void check_path(const fs::path& path, DatabaseAccess access) {
  std::error_code ignored;
  if (path.empty()) fail("the name of a database is empty, expected a file");
  if (fs::is_directory(path, ignored)) fail("{}: is a directory, expected a file", path.string());
  if (access != DatabaseAccess::kCreate && !fs::exists(path, ignored)) {
    fail("{}: no such file", path.string());
  }
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {  // a pipe would wait for ever
    fail("{}: is not a regular file", path.string());
  }
  const fs::path folder = fs::absolute(path, ignored).parent_path();
  if (!fs::is_directory(folder, ignored)) fail("{}: no such folder", folder.string());
  if (access != DatabaseAccess::kRead && ::access(folder.c_str(), W_OK) != 0) {
    fail("{}: cannot write to its folder: {}", path.string(), std::strerror(errno));
  }
}

// In WAL mode readers too write beside the file. Where they cannot, and no log shows that somebody else does,
// the file is read as one that never changes.
bool must_be_immutable(const fs::path& path, DatabaseAccess access) {
  std::error_code ignored;
  return access == DatabaseAccess::kRead && ::access(path.parent_path().c_str(), W_OK) != 0 &&
         !fs::exists(path.string() + "-wal", ignored);
}

std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", c);
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

void execute_on(const SqliteConnection& connection, const char* sql) {
  require_ok(connection, sqlite3_exec(connection.handle, sql, nullptr, nullptr, nullptr));
}

// The file may be anybody's: what its schema says may neither call functions with side effects nor compute
// for ever. None of ours has a view or a trigger.
void distrust_schema(const SqliteConnection& connection) {
  sqlite3* handle = connection.handle;
  const std::pair<int, int> switches[] = {{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_DEFENSIVE, 1},
                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
  for (const auto& [what, value] : switches)
    require_ok(connection, sqlite3_db_config(handle, what, value, static_cast<int*>(nullptr)));
  const std::pair<int, int> limits[] = {{SQLITE_LIMIT_LENGTH, 1 << 28},
                                        {SQLITE_LIMIT_ATTACHED, 0},
                                        {SQLITE_LIMIT_EXPR_DEPTH, 100},
                                        {SQLITE_LIMIT_COMPOUND_SELECT, 20},
                                        {SQLITE_LIMIT_TRIGGER_DEPTH, 10}};
  for (const auto& [what, most] : limits) sqlite3_limit(handle, what, most);
}

int bind_value(sqlite3_stmt* statement, int place, const SqlValue& value) {
  const auto bind = [&](const auto& v) {
    using T = std::remove_cvref_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::monostate>) return sqlite3_bind_null(statement, place);
    if constexpr (std::is_same_v<T, Index>) return sqlite3_bind_int64(statement, place, v);
    if constexpr (std::is_same_v<T, double>) return sqlite3_bind_double(statement, place, v);
    // A null pointer would bind NULL; empty text is a value.
    if constexpr (std::is_same_v<T, std::string_view>) {
      return sqlite3_bind_text64(statement, place, v.empty() ? "" : v.data(), v.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    }
  };
  return std::visit(bind, value);
}

}  // namespace

Database::Database(const fs::path& path, const DatabaseOptions& options)
    : connection_(std::make_shared<SqliteConnection>()) {
  check_path(path, options.access);
  SqliteConnection& c = *connection_;
  c.path = path;
  c.busy_timeout = options.busy_timeout;
  // An absolute path can be neither ":memory:" nor "file:…?…".
  std::string name = fs::absolute(path).string();
  int flags = open_flags(options.access);
  if (must_be_immutable(name, options.access)) {
    name = immutable_uri(name);
    flags |= SQLITE_OPEN_URI;
  }
  if (sqlite3_open_v2(name.c_str(), &c.handle, flags, nullptr) != SQLITE_OK) {
    if (c.handle == nullptr) throw std::bad_alloc();
    fail_at(c);
  }
  sqlite3_busy_timeout(c.handle, static_cast<int>(options.busy_timeout.count()));
  distrust_schema(c);
  execute_on(c, "PRAGMA schema_version; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON");
  if (options.access != DatabaseAccess::kRead && options.journal == Journal::kWal) {
    execute_on(c, "PRAGMA journal_mode = WAL");
  }
}

void Database::execute(const std::string& sql) {
  execute_on(*connection_, sql.c_str());
}

Index Database::integer(std::string_view sql) const {
  Statement statement(*this, sql);
  if (!statement.step()) fail("{}: no row for {}", path().string(), sql);
  return statement.integer(0);
}

Index Database::changes() const {
  return sqlite3_changes64(connection_->handle);
}

const fs::path& Database::path() const {
  return connection_->path;
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, std::string_view sql) : connection_(database.connection_) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int result = sqlite3_prepare_v3(connection_->handle, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, &rest);
  statement_.reset(statement);
  require_ok(*connection_, result);
  check(statement != nullptr && rest == sql.data() + sql.size(), "one SQL statement");
}

Statement& Statement::bind(std::initializer_list<SqlValue> values) {
  reset();
  check(sqlite3_bind_parameter_count(statement_.get()) == std::ssize(values), "a value for each place");
  int place = 0;
  for (const SqlValue& value : values) {
    require_ok(*connection_, bind_value(statement_.get(), ++place, value));
  }
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) fail_at(*connection_);
  reset();
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(statement_.get());  // repeats the error of the latest step, which was thrown then
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Index Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  if (bytes == nullptr) return "";
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  // After some failures (a full disk) SQLite has rolled back already.
  sqlite3* handle = database_.connection_->handle;
  if (sqlite3_get_autocommit(handle) == 0) sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace buoy
