// Speaks HTTP: listens, hands every request to a function, sends what it answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "buoy/serve/guard.h"
#include "buoy/serve/http.h"

namespace buoy {

struct HttpServerSettings {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
  std::string token;
  Index body_bytes = 1 << 20;
  Index streams = 64;  // at once; more are answered with 503
};

class HttpServer {
 public:
  // Called on many threads at once; only for requests that the guard lets through. Must not throw.
  using Answer = std::function<HttpResponse(const HttpRequest&)>;

  // Listens from here on. Throws Error where it cannot.
  HttpServer(const HttpServerSettings& settings, Answer answer);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  const std::string& token() const;
  // "http://127.0.0.1:8321".
  std::string address() const;

  // Serves until stop() is called, from any thread. Streams end, answers under way are sent.
  void run();
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
