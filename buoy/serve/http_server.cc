#include "buoy/serve/http_server.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <httplib.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::chrono::seconds kHeartbeat{10};
constexpr std::chrono::milliseconds kPatience{250};  // how soon a stream sees that the server stops
constexpr Index kSpareThreads = 32;                  // for requests beside the streams

// httplib's own pool has a few threads, each of which a stream would occupy for good. Here threads come as
// they are needed, up to a limit above that of the streams; what comes then waits.
class GrowingPool : public httplib::TaskQueue {
 public:
  explicit GrowingPool(Index limit) : limit_(limit) {}

  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue(nullptr));  // void or bool by version
  Enqueued enqueue(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ < std::ssize(tasks_) && std::ssize(threads_) < limit_)
      threads_.emplace_back([this] { work(); });
    else
      come_.notify_one();
    return static_cast<Enqueued>(true);
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    come_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      come_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const Index limit_;
  std::mutex mutex_;
  std::condition_variable come_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  Index idle_ = 0;
  bool over_ = false;
};

HttpRequest to_request(const httplib::Request& given) {
  HttpRequest request{.method = given.method, .path = given.path};
  for (const auto& [name, value] : given.params) request.query.emplace(name, value);
  request.host = given.get_header_value("Host");
  request.origin = given.get_header_value("Origin");
  request.fetch_site = given.get_header_value("Sec-Fetch-Site");
  request.token = given.get_header_value("X-Buoy-Token");
  request.last_event_id = given.get_header_value("Last-Event-ID");
  request.accepts_gzip = given.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  return request;
}

void add_headers(const HttpResponse& answer, httplib::Response& response) {
  for (const auto& [name, value] : guard_headers()) response.set_header(name, value);
  for (const auto& [name, value] : answer.headers) response.set_header(name, value);
}

}  // namespace

struct HttpServer::State {
  HttpServerSettings settings;
  Answer answer;
  int port = 0;
  std::atomic<bool> stopping = false;
  std::atomic<Index> streams = 0;
  httplib::Server server;

  GuardSettings guard() const { return {.host = settings.host, .port = port, .token = settings.token}; }

  // Read here and not by httplib, which takes what curl and Python call a form by default for one: 8 KiB at
  // most, and parts of it as names of the query.
  void handle_body(const httplib::Request& given, httplib::Response& response,
                   const httplib::ContentReader& read) {
    HttpRequest request = to_request(given);
    if (given.is_multipart_form_data()) {
      read([](const auto& /* its name differs by version */) { return true; },
           [](const char*, std::size_t) { return true; });
      return send(error_response(400, "body is multipart/form-data, expected JSON"), response);
    }
    const bool whole = read([&](const char* data, std::size_t size) {
      request.body.append(data, size);
      return true;
    });
    if (whole) return handle(request, response);
    if (response.status < 400) response.status = 400;  // it broke off; the error handler says so
  }

  void handle(const HttpRequest& request, httplib::Response& response) {
    std::optional<HttpResponse> refused = refuse(guard(), request);
    send(refused ? std::move(*refused) : answer(request), response);
  }

  void send(HttpResponse made, httplib::Response& response) {
    if (made.stream && streams.fetch_add(1) >= settings.streams) {
      --streams;
      made = error_response(
          503, fmt::format("{} streams are open, expected fewer: try again later", settings.streams));
    }
    add_headers(made, response);
    response.status = made.status;
    if (made.stream) {
      send_stream(std::move(made), response);
    } else {
      send_body(std::move(made), response);
    }
  }

  // By a provider of known length: httplib compresses only what it is given whole, also what is compressed.
  static void send_body(HttpResponse made, httplib::Response& response) {
    if (made.body.empty()) return response.set_content("", made.type);
    const auto body = std::make_shared<const std::string>(std::move(made.body));
    response.set_content_provider(body->size(), made.type,
                                  [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                    return sink.write(body->data() + offset, length);
                                  });
  }

  void send_stream(HttpResponse made, httplib::Response& response) {
    const auto stream = std::shared_ptr<HttpStream>(std::move(made.stream));
    const auto last =
        std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
    response.set_chunked_content_provider(
        made.type,
        [this, stream, last](std::size_t, httplib::DataSink& sink) {
          std::optional<std::string> text;
          if (!stopping) text = stream->next(kPatience);
          if (!text) {
            sink.done();
            return true;
          }
          const auto now = std::chrono::steady_clock::now();
          if (text->empty() && now - *last < kHeartbeat) return true;
          *last = now;
          if (text->empty()) *text = ":\n\n";  // a comment: who is gone is noticed
          return sink.write(text->data(), text->size());
        },
        [this](bool) { --streams; });
  }
};

HttpServer::HttpServer(const HttpServerSettings& settings, Answer answer)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.settings = settings;
  s.answer = std::move(answer);
  const Index threads = settings.streams + kSpareThreads;
  s.server.new_task_queue = [threads] { return new GrowingPool(threads); };
  s.server.set_payload_max_length(static_cast<std::size_t>(settings.body_bytes));
  s.server.set_tcp_nodelay(true);
  s.server.set_keep_alive_max_count(1000);
  s.server.set_keep_alive_timeout(
      2);  // seconds: a browser keeps six idle connections, and each keeps a thread
  const auto handle = [&s](const httplib::Request& request, httplib::Response& response) {
    s.handle(to_request(request), response);
  };
  const auto handle_body = [&s](const httplib::Request& request, httplib::Response& response,
                                const httplib::ContentReader& read) {
    s.handle_body(request, response, read);
  };
  const std::string all = "/.*";
  s.server.Get(all, handle).Options(all, handle).Delete(all, handle);
  s.server.Post(all, handle_body).Put(all, handle_body).Patch(all, handle_body).Delete(all, handle_body);
  // What never reached a handler: a body that is too long, a request that is none.
  s.server.set_error_handler([&s](const httplib::Request&, httplib::Response& response) {
    if (!response.get_header_value("Content-Security-Policy").empty()) return;
    const std::string line = response.status == 413
                                 ? fmt::format("the body is longer than {} bytes", s.settings.body_bytes)
                                 : fmt::format("the request is not one that this server knows");
    const HttpResponse made = error_response(response.status, line);
    add_headers(made, response);
    response.set_content(made.body, made.type);
  });
  s.port = settings.port == 0 ? s.server.bind_to_any_port(settings.host)
                              : (s.server.bind_to_port(settings.host, settings.port) ? settings.port : -1);
  if (s.port <= 0) {
    fail("{}:{}: cannot listen there; is the address this machine's and the port free?", settings.host,
         settings.port);
  }
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return state_->port;
}

const std::string& HttpServer::token() const {
  return state_->settings.token;
}

std::string HttpServer::address() const {
  const std::string& host = state_->settings.host;
  return fmt::format("http://{}:{}", host.find(':') == host.npos ? host : "[" + host + "]", state_->port);
}

void HttpServer::run() {
  state_->server.listen_after_bind();
}

void HttpServer::stop() {
  state_->stopping = true;
  state_->server.stop();
}

}  // namespace buoy
