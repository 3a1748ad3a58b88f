// Requests from strangers to the explorer: whatever is asked, the guard and the routes answer with a status
// and, where it is an error, one line of JSON.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "buoy/io/json.h"
#include "buoy/serve/guard.h"

namespace {

using namespace buoy;

// Lines: method, path, Host, Origin, Sec-Fetch-Site, token, query name, query value; then the body.
HttpRequest read_request(const std::string& text) {
  std::vector<std::string> lines(8);
  std::size_t begin = 0;
  for (std::string& line : lines) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    line = text.substr(begin, end - begin);
    begin = std::min(end + 1, text.size());
  }
  HttpRequest request{
      .method = lines[0], .path = lines[1], .host = lines[2], .origin = lines[3], .fetch_site = lines[4]};
  request.token = lines[5];
  request.query[lines[6]] = lines[7];
  request.body = text.substr(begin);
  return request;
}

HttpResponse echo(const HttpRequest& request, const PathParts& parts) {
  const Index number = request.number_or("n", 3, 0, 100);
  const double real = request.real_or("x", 1);
  const std::string word = request.word("rows", {"all", "read"});
  const Json json = request.json();
  return json_response(Json{{"parts", parts}, {"n", number}, {"x", real}, {"rows", word}, {"body", json}});
}

void need(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const HttpRequest request = read_request({reinterpret_cast<const char*>(data), size});
  const GuardSettings guard{.host = "buoy.lan", .port = 8321, .token = "0123abcd"};
  const std::vector<Route> routes = {
      {"GET", "/api/v1/runs/{}/arrays/{}", echo}, {"PUT", "/api/v1/c/{}/d/{*}", echo}, {"GET", "/", echo}};
  const std::optional<HttpResponse> refused = refuse(guard, request);
  if (!refused && request.path.starts_with("/api/"))
    need(request.token == guard.token || request.query.contains("token"));
  const HttpResponse answer = dispatch(routes, request);
  for (const HttpResponse* one : {&answer, refused ? &*refused : nullptr}) {
    if (one == nullptr) continue;
    need(one->status == 200 || (one->status >= 400 && one->status < 500));
    const Json json = parse_json(one->body, "answer");
    if (one->status != 200) need(json.contains("error") && one->body.find('\n') == std::string::npos);
  }
  return 0;
}
