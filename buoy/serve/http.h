// Requests and answers of the explorer as plain values: whoever speaks HTTP fills and sends them.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"
#include "buoy/io/npz.h"

namespace buoy {

// An answer with a status of 400 or more and one line that says why.
class HttpError : public Error {
 public:
  HttpError(int status, const std::string& line) : Error(line), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

template <typename... Args>
[[noreturn]] void fail_http(int status, fmt::format_string<Args...> format, Args&&... args) {
  throw HttpError(status, fmt::vformat(format, fmt::make_format_args(args...)));
}

struct HttpRequest {
  std::string method = "GET";
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; of a repeated name the first
  std::string host, origin, fetch_site;      // headers; empty where they are absent
  std::string token;                         // of the header X-Buoy-Token
  std::string last_event_id;
  bool accepts_gzip = false;
  std::string body;

  // A whole number from the query. Throws HttpError 400 for what is none or outside low … high.
  Index number(const std::string& name, Index low, Index high) const;
  Index number_or(const std::string& name, Index fallback, Index low, Index high) const;
  // A finite number, at least 0.
  double real_or(const std::string& name, double fallback) const;
  // One of the words; the first where the query has none.
  std::string word(const std::string& name, const std::vector<std::string>& words) const;
  // The body as a JSON object. Throws HttpError 400.
  Json json() const;
};

// Text that comes bit by bit. next() waits for at most that long and gives what there is: empty where nothing
// has come, nothing at the end. Called by one thread, which may be slow or never come back.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual std::optional<std::string> next(std::chrono::milliseconds wait) = 0;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::unique_ptr<HttpStream> stream = {};  // instead of a body
};

HttpResponse json_response(const Json& json, int status = 200);
HttpResponse npy_response(const NpyArray& array);
// {"error": line}
HttpResponse error_response(int status, const std::string& line);

// One of the parts of a path that a route's pattern names, in order.
using PathParts = std::vector<std::string>;

// What a path answers to. Pattern: "/runs/{}/arrays/{}"; a last "{*}" takes the rest, slashes included.
struct Route {
  std::string method, pattern;
  std::function<HttpResponse(const HttpRequest&, const PathParts&)> answer;
  std::vector<std::string> query = {};  // names that its query may have, beside the token
};

// Answers by the first route that fits; every failure becomes an answer: 404, 405 (with Allow), 400 for a
// name in the query that the route does not know, the status of an HttpError, 400 for a UsageError, 422 for
// another Error, 500 for anything else.
HttpResponse dispatch(const std::vector<Route>& routes, const HttpRequest& request);

}  // namespace buoy
