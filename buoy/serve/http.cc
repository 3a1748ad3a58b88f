#include "buoy/serve/http.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

#include "buoy/io/json.h"

namespace buoy {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> parts;
  std::size_t begin = path.starts_with('/') ? 1 : 0;
  while (true) {
    const std::size_t end = path.find('/', begin);
    parts.push_back(path.substr(begin, end == path.npos ? path.npos : end - begin));
    if (end == path.npos) return parts;
    begin = end + 1;
  }
}

std::optional<PathParts> fit_path(const std::string& pattern, const std::string& path) {
  const auto wanted = split_path(pattern), given = split_path(path);
  PathParts found;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i >= given.size()) return std::nullopt;
    if (wanted[i] == "{*}") {
      found.emplace_back(path.substr(static_cast<std::size_t>(given[i].data() - path.data())));
      return found.back().empty() ? std::nullopt : std::optional(found);
    }
    if (wanted[i] == "{}") {
      if (given[i].empty()) return std::nullopt;
      found.emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return std::nullopt;
    }
  }
  return given.size() == wanted.size() ? std::optional(found) : std::nullopt;
}

// A misspelt name would be ignored, and the answer would be to another question.
void check_query(const Route& route, const HttpRequest& request) {
  if (!request.path.starts_with("/api/")) return;  // the page, whatever a link to it carries
  for (const auto& [name, value] : request.query) {
    if (name == "token" || std::ranges::find(route.query, name) != route.query.end()) continue;
    if (route.query.empty()) fail_http(400, "{} stands in the query, expected nothing there", quote(name));
    fail_http(400, "{} stands in the query, expected {}", quote(name), fmt::join(route.query, ", "));
  }
}

HttpResponse answer_route(const Route& route, const HttpRequest& request, const PathParts& parts) {
  try {
    check_query(route, request);
    return route.answer(request, parts);
  } catch (const HttpError& error) {
    return error_response(error.status(), error.what());
  } catch (const UsageError& error) {
    return error_response(400, error.what());
  } catch (const Error& error) {
    return error_response(422, error.what());
  } catch (const std::exception& error) {
    return error_response(500, error.what());
  }
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Index HttpRequest::number(const std::string& name, Index low, Index high) const {
  const auto found = query.find(name);
  if (found == query.end()) fail_http(400, "{} is missing, expected {} to {}", name, low, high);
  const std::optional<Index> value = parse_number<Index>(found->second);
  if (!value || *value < low || *value > high)
    fail_http(400, "{} is {}, expected {} to {}", name, quote(found->second), low, high);
  return *value;
}

Index HttpRequest::number_or(const std::string& name, Index fallback, Index low, Index high) const {
  return query.contains(name) ? number(name, low, high) : fallback;
}

double HttpRequest::real_or(const std::string& name, double fallback) const {
  const auto found = query.find(name);
  if (found == query.end()) return fallback;
  const std::optional<double> value = parse_number<double>(found->second);
  if (!value || !std::isfinite(*value) || *value < 0)
    fail_http(400, "{} is {}, expected a number of at least 0", name, quote(found->second));
  return *value;
}

std::string HttpRequest::word(const std::string& name, const std::vector<std::string>& words) const {
  const auto found = query.find(name);
  if (found == query.end()) return words.front();
  if (std::ranges::find(words, found->second) == words.end())
    fail_http(400, "{} is {}, expected {}", name, quote(found->second), fmt::join(words, " or "));
  return found->second;
}

Json HttpRequest::json() const {
  Json made;
  try {
    made = parse_json(body.empty() ? "{}" : body, "body");
  } catch (const Error& error) {
    throw HttpError(400, error.what());
  }
  if (!made.is_object()) fail_http(400, "body is {}, expected an object", kind_of(made));
  return made;
}

HttpResponse json_response(const Json& json, int status) {
  return {.status = status, .body = json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

HttpResponse npy_response(const NpyArray& array) {
  return {.type = "application/octet-stream", .body = format_npy(array)};
}

HttpResponse error_response(int status, const std::string& line) {
  std::string one_line = line;
  std::ranges::replace_if(
      one_line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return json_response(Json{{"error", one_line}}, status);
}

HttpResponse dispatch(const std::vector<Route>& routes, const HttpRequest& request) {
  std::vector<std::string> allowed;
  for (const Route& route : routes) {
    const std::optional<PathParts> parts = fit_path(route.pattern, request.path);
    if (!parts) continue;
    if (route.method == request.method) return answer_route(route, request, *parts);
    allowed.push_back(route.method);
  }
  if (allowed.empty())
    return error_response(404, fmt::format("{}: there is no such path", quote(request.path)));
  HttpResponse answer = error_response(405, fmt::format("{} is not for this path, expected {}",
                                                        quote(request.method), fmt::join(allowed, " or ")));
  answer.headers.emplace_back("Allow", fmt::format("{}", fmt::join(allowed, ", ")));
  return answer;
}

}  // namespace buoy
