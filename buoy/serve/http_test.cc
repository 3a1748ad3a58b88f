// Who is let in, which route answers, and what wrong requests come to.
#include "buoy/serve/http.h"

#include <set>

#include <gtest/gtest.h>

#include "buoy/io/json.h"
#include "buoy/serve/guard.h"

namespace buoy {
namespace {

const GuardSettings kGuard{.host = "buoy.lan", .port = 8321, .token = "0123abcd"};

HttpRequest asking(const std::string& host, const std::string& token = "0123abcd") {
  return {.path = "/api/v1/about", .host = host, .token = token};
}

int status_of(const std::optional<HttpResponse>& refused) {
  return refused ? refused->status : 200;
}

TEST(Guard, LetsInAddressesLocalhostAndItsOwnNameAndNoOther) {
  for (const char* host :
       {"127.0.0.1:8321", "localhost:8321", "[::1]:8321", "192.168.1.5:8321", "buoy.lan:8321"})
    EXPECT_EQ(status_of(refuse(kGuard, asking(host))), 200) << host;
  for (const char* host : {"evil.example:8321", "127.0.0.1.evil.example:8321", "127.0.0.1:8322", "127.0.0.1",
                           "", "localhost:8321.evil.example", "[::1", "8321"})
    EXPECT_EQ(status_of(refuse(kGuard, asking(host))), 421) << host;
}

TEST(Guard, RefusesPagesOfOtherSites) {
  HttpRequest request = asking("127.0.0.1:8321");
  request.origin = "http://127.0.0.1:8321";
  EXPECT_EQ(status_of(refuse(kGuard, request)), 200);
  for (const char* origin :
       {"http://evil.example", "https://127.0.0.1:8321", "http://localhost:8321", "null"}) {
    request.origin = origin;
    EXPECT_EQ(status_of(refuse(kGuard, request)), 403) << origin;
  }
  request.origin = "";
  for (const char* site : {"cross-site", "same-site"}) {
    request.fetch_site = site;
    EXPECT_EQ(status_of(refuse(kGuard, request)), 403) << site;
  }
  request.fetch_site = "same-origin";
  EXPECT_EQ(status_of(refuse(kGuard, request)), 200);
}

TEST(Guard, AsksForTheTokenButForThePage) {
  EXPECT_EQ(status_of(refuse(kGuard, asking("localhost:8321", ""))), 401);
  EXPECT_EQ(status_of(refuse(kGuard, asking("localhost:8321", "0123abce"))), 401);
  EXPECT_EQ(status_of(refuse(kGuard, asking("localhost:8321", "0123abcd0"))), 401);
  HttpRequest request = asking("localhost:8321", "");
  request.query["token"] = "0123abcd";
  EXPECT_EQ(status_of(refuse(kGuard, request)), 200);
  request.query["token"] = "0123abc";
  EXPECT_EQ(status_of(refuse(kGuard, request)), 401);
  HttpRequest page{.path = "/", .host = "localhost:8321", .fetch_site = "cross-site"};
  EXPECT_EQ(status_of(refuse(kGuard, page)), 200) << "a link from anywhere";
  page.host = "evil.example:8321";
  EXPECT_EQ(status_of(refuse(kGuard, page)), 421);
}

TEST(Guard, TokensAreLongAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(make_token());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(seen.begin()->size(), 32u);
}

HttpResponse echo(const HttpRequest&, const PathParts& parts) {
  return json_response(Json(parts));
}

const std::vector<Route>& echoing() {
  static const std::vector<Route> routes = {
      {"GET", "/a/{}/b", echo},
      {"PUT", "/c/{}/d/{*}", echo},
      {"GET", "/c/{}/d/{*}", echo},
      {"GET", "/bad", [](const HttpRequest& r, const PathParts&) -> HttpResponse {
         if (r.query.contains("usage")) fail_usage("wrong\ncall");
         if (r.query.contains("error")) fail("bad file");
         if (r.query.contains("http")) fail_http(409, "not now");
         throw std::runtime_error("a bug");
       }}};
  return routes;
}

TEST(Routes, AnswerByMethodAndPath) {
  EXPECT_EQ(dispatch(echoing(), {.path = "/a/x/b"}).body, R"(["x"])");
  EXPECT_EQ(dispatch(echoing(), {.path = "/c/x/d/y/z"}).body, R"(["x","y/z"])")
      << "the rest, slashes included";
  for (const char* path : {"/a/x", "/a//b", "/a/x/b/", "/a/x/b/c", "/c/x/d/", "", "/", "/bad/"})
    EXPECT_EQ(dispatch(echoing(), {.path = path}).status, 404) << path;
  const HttpResponse refused = dispatch(echoing(), {.method = "POST", .path = "/c/x/d/y"});
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.front().second, "PUT, GET");
}

TEST(Routes, FailuresAreOneLineOfJsonWithTheirStatus) {
  const auto status = [&](const char* how) {
    const HttpResponse answer = dispatch(echoing(), {.path = "/bad", .query = {{how, ""}}});
    const Json json = parse_json(answer.body, "answer");
    EXPECT_EQ(json["error"].get<std::string>().find('\n'), std::string::npos);
    return answer.status;
  };
  EXPECT_EQ(status("usage"), 400);
  EXPECT_EQ(status("error"), 422);
  EXPECT_EQ(status("http"), 409);
  EXPECT_EQ(status("other"), 500);
}

TEST(Routes, RefuseNamesInTheQueryThatTheyDoNotKnow) {
  const std::vector<Route> routes = {
      {"GET", "/api/v1/a", echo, {"step", "layer"}}, {"GET", "/api/v1/b", echo}, {"GET", "/", echo}};
  EXPECT_EQ(dispatch(routes, {.path = "/api/v1/a", .query = {{"step", "1"}, {"token", "x"}}}).status, 200);
  const HttpResponse refused = dispatch(routes, {.path = "/api/v1/a", .query = {{"stepp", "1"}}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body, R"({"error":"\"stepp\" stands in the query, expected step, layer"})");
  EXPECT_EQ(dispatch(routes, {.path = "/api/v1/b", .query = {{"step", "1"}}}).status, 400);
  EXPECT_EQ(dispatch(routes, {.path = "/", .query = {{"from", "mail"}}}).status, 200)
      << "a link may carry anything";
}

TEST(Requests, NumbersAreWholeAndInRange) {
  HttpRequest request{
      .query = {{"a", "7"}, {"b", "7x"}, {"c", "-1"}, {"d", "99999999999999999999"}, {"e", ""}}};
  EXPECT_EQ(request.number("a", 0, 7), 7);
  EXPECT_EQ(request.number_or("absent", 3, 0, 7), 3);
  for (const char* name : {"b", "c", "d", "e", "absent"})
    EXPECT_THROW(request.number(name, 0, 7), HttpError) << name;
  EXPECT_THROW(request.number("a", 0, 6), HttpError);
  request.query["r"] = "nan";
  EXPECT_THROW(request.real_or("r", 1), HttpError);
}

}  // namespace
}  // namespace buoy
