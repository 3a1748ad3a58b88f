#include "buoy/serve/guard.h"

#include <array>

#include <arpa/inet.h>
#include <sys/random.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

struct HostPort {
  std::string host, port;
};

// "[::1]:80" → "::1", "80".
HostPort split_host(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return {text, ""};
    const std::string rest = text.substr(end + 1);
    return {text.substr(1, end - 1), rest.starts_with(':') ? rest.substr(1) : rest};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool same_secret(const std::string& a, const std::string& b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

bool good_host(const GuardSettings& settings, const std::string& text) {
  const HostPort given = split_host(text);
  const std::string port = given.port.empty() ? "80" : given.port;
  const bool known = is_address(given.host) || given.host == "localhost" || given.host == settings.host;
  return known && port == std::to_string(settings.port);
}

}  // namespace

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail("the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

std::optional<HttpResponse> refuse(const GuardSettings& settings, const HttpRequest& request) {
  if (!good_host(settings, request.host)) {
    return error_response(421, fmt::format("Host is {}, expected this server's address with port {}",
                                           quote(request.host), settings.port));
  }
  // The page holds no data, and a link to it may stand anywhere: in a chat, in a notebook.
  if (!request.path.starts_with("/api/")) return std::nullopt;
  if (!request.origin.empty() && request.origin != "http://" + request.host)
    return error_response(403,
                          fmt::format("Origin is {}, expected this server's own", quote(request.origin)));
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" && request.fetch_site != "none") {
    return error_response(
        403, fmt::format("Sec-Fetch-Site is {}, expected same-origin", quote(request.fetch_site)));
  }
  const auto asked = request.query.find("token");
  const std::string& token =
      !request.token.empty() || asked == request.query.end() ? request.token : asked->second;
  if (token.empty())
    return error_response(401,
                          "the token is missing, expected the header X-Buoy-Token or token=… in the query");
  if (!same_secret(token, settings.token))
    return error_response(401,
                          "the token is wrong, expected the one in the address that the command printed");
  return std::nullopt;
}

const std::vector<std::pair<std::string, std::string>>& guard_headers() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
       "'self'; "
       "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  };
  return headers;
}

}  // namespace buoy
