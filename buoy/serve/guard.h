// Who may ask: the token, and a Host and an Origin that no strange page can bring about.
#pragma once

#include <optional>
#include <string>

#include "buoy/serve/http.h"

namespace buoy {

struct GuardSettings {
  std::string host = "127.0.0.1";  // what is listened at
  int port = 0;
  std::string token;
};

// 32 hexadecimal digits from the system's generator. Throws Error where there is none.
std::string make_token();

// What is wrong with a request, or nothing.
// - Host: an IP address, "localhost" or the host that is listened at, with the port. A page of another site
//   whose name was made to point here (DNS rebinding) brings its own name along.
// And for everything under /api/, which is all but the page itself:
// - Origin and Sec-Fetch-Site, where a browser sends them: this very server.
// - The token, as the header or as "token" in the query, compared in constant time.
std::optional<HttpResponse> refuse(const GuardSettings& settings, const HttpRequest& request);

// What every answer says to a browser: a strict Content-Security-Policy, no sniffing, no framing, no
// referrer, nothing stored.
const std::vector<std::pair<std::string, std::string>>& guard_headers();

}  // namespace buoy
