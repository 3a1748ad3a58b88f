#include "buoy/serve/standalone_page.h"

#include <bit>

#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/page.h"

namespace buoy {
namespace {

std::string base64(const std::string& bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string made;
  made.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t b = 0; b < 3; ++b)
      three = three << 8 | (i + b < bytes.size() ? static_cast<unsigned char>(bytes[i + b]) : 0u);
    for (std::size_t d = 0; d < 4; ++d)
      made += i + d <= bytes.size() ? kDigits[three >> (18 - 6 * d) & 63] : '=';
  }
  return made;
}

// To the nearest float16, ties to even; what is too large becomes infinite.
std::uint16_t narrow_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  const std::uint32_t exponent = magnitude >> 23;
  // Below 2^-14 the steps stay 2^-24: more of the mantissa falls away.
  const std::uint32_t drop = exponent >= 113 ? 13 : exponent >= 102 ? 126 - exponent : 25;
  const std::uint32_t whole =
      exponent >= 113 ? magnitude - (112U << 23) : (magnitude & 0x7FFFFFU) | 0x800000U;
  if (drop == 25) return static_cast<std::uint16_t>(sign);
  const std::uint32_t half = 1U << (drop - 1), rest = whole & ((1U << drop) - 1);
  std::uint32_t made = whole >> drop;
  if (rest > half || (rest == half && (made & 1) != 0)) ++made;
  return static_cast<std::uint16_t>(sign | made);
}

// Numbers with a fraction as float16: half the bytes, and three digits, which is more than a colour shows.
std::string smaller(const std::string& npy) {
  NpyArray array = parse_npy(std::as_bytes(std::span(npy)), "array");
  if (array.dtype != DType::kF32) return npy;
  const std::vector<float> values = array.as_floats();
  NpyArray half{.dtype = DType::kF16, .shape = array.shape};
  half.bytes.reserve(values.size() * 2);
  for (const float value : values) {
    const std::uint16_t bits = narrow_f16(value);
    half.bytes.push_back(static_cast<std::byte>(bits & 0xFF));
    half.bytes.push_back(static_cast<std::byte>(bits >> 8));
  }
  return format_npy(half);
}

// Asks the explorer itself, so that the page finds what a server would have sent.
class Gatherer {
 public:
  explicit Gatherer(Explorer& explorer) : explorer_(explorer) {}

  // What there is not is left out: the page then says that it needs a server.
  void add(const std::string& path, const std::vector<std::pair<std::string, std::string>>& query = {}) {
    HttpRequest request{.path = path, .query = {query.begin(), query.end()}};
    HttpResponse answer = explorer_.answer(request);
    if (answer.status != 200) return;
    if (answer.type == "application/octet-stream") answer.body = smaller(answer.body);
    std::string key = path;
    for (const auto& [name, value] : query) key += (key == path ? "?" : "&") + name + "=" + value;
    data_[key] = "gz:" + base64(gzip(answer.body));
  }
  void put(const std::string& path, const Json& json) { data_[path] = "gz:" + base64(gzip(json.dump())); }

  Json get(const std::string& path) { return parse_json(explorer_.answer({.path = path}).body, path); }
  // Base64 and names of paths only: nothing in it can end a script.
  std::string script() const { return "window.BUOY_DATA=" + data_.dump() + ";"; }

 private:
  Explorer& explorer_;
  Json data_ = Json::object();
};

void add_run(Gatherer& gatherer, const std::string& id) {
  const std::string run = "/api/v1/runs/" + id;
  Json json = gatherer.get(run);
  json["can_recompute"] = false;
  json["numbers"] = "float16";
  gatherer.put(run, json);
  for (const char* part : {"/steps/tokens", "/steps/guesses", "/steps/guess_confidence", "/pieces", "/null"})
    gatherer.add(run + part);
  for (const char* rows : {"all", "read"}) gatherer.add(run + "/anchors", {{"rows", rows}});
  for (const Json& array : json["arrays"]) {
    const auto name = array["name"].get<std::string>();
    if (!name.starts_with("guess")) gatherer.add(run + "/arrays/" + name);  // among the steps already
  }
  for (std::size_t t = 0; t <= json["step_numbers"].size(); ++t) {
    for (const Json& layer : json["layers"])
      gatherer.add(run + "/flow", {{"step", std::to_string(t)}, {"layer", layer.dump()}});
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t place = text.find(what);
  check(place != std::string::npos, "the page names its parts as it should");
  return text.replace(place, what.size(), with);
}

// A script's text must not hold what would end it.
std::string inside_script(std::string text) {
  const std::string end = "</script";
  for (std::size_t place = text.find(end); place != text.npos; place = text.find(end, place + 1))
    text.insert(place + 1, "\\");
  return text;
}

// Nothing is fetched, nothing is sent.
constexpr const char* kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n";

}  // namespace

bool fits_a_page(const Trace& trace) {
  constexpr Index kMostNumbers = 12'000'000;
  Index numbers = 0;
  for (const TraceArray& array : trace_arrays())
    array.visit(trace, [&](const auto& values) { numbers += std::ssize(values); });
  return numbers <= kMostNumbers;
}

std::string standalone_page(const ExplorerSettings& settings) {
  ExplorerSettings alone = settings;
  alone.models.clear();
  alone.collections.clear();
  Explorer explorer(alone);
  Gatherer gatherer(explorer);
  Json about = gatherer.get("/api/v1/about");
  about["live"] = false;
  about["standalone"] = true;
  gatherer.put("/api/v1/about", about);
  gatherer.add("/api/v1/runs");
  gatherer.add("/api/v1/tables");
  gatherer.add("/api/v1/collections");
  for (const Json& run : gatherer.get("/api/v1/runs")) add_run(gatherer, run["id"].get<std::string>());
  for (const Json& table : gatherer.get("/api/v1/tables"))
    gatherer.add("/api/v1/tables/" + table["id"].get<std::string>());
  std::string page = page_text("index.html");
  page = replaced(page, "<link rel=\"stylesheet\" href=\"/assets/app.css\">",
                  "<style>" + page_text("app.css") + "</style>");
  page = replaced(page, "<script src=\"/assets/app.js\" defer></script>", "");
  page = replaced(page, "<meta charset=\"utf-8\">\n", "<meta charset=\"utf-8\">\n" + std::string(kPolicy));
  return replaced(page, "</body>",
                  "<script>" + gatherer.script() + "</script>\n<script>" +
                      inside_script(page_text("app.js")) + "</script>\n</body>");
}

}  // namespace buoy
