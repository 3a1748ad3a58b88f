#include "buoy/text/normalizer.h"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

bool is_mark(const utf8proc_property_t& property) {
  return property.category == UTF8PROC_CATEGORY_MN || property.category == UTF8PROC_CATEGORY_MC ||
         property.category == UTF8PROC_CATEGORY_ME;
}

// Whether the character may compose with what stands before it: marks, and the vowels and tails of Hangul.
// Everything below U+0300 stands alone.
bool joins_previous(char32_t c) {
  if (c < 0x300) return false;
  if (c >= 0x1160 && c <= 0x11FF) return true;
  return is_mark(*utf8proc_get_property(static_cast<utf8proc_int32_t>(c)));
}

bool decomposes(char32_t c) {
  if (c < 0xC0) return false;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->decomp_seqindex != UINT16_MAX;
}

int combining_class(utf8proc_int32_t c) {
  return static_cast<int>(utf8proc_get_property(c)->combining_class);
}

// utf8proc sorts marks by insertion, which is quadratic in a long run of them; this is the same order,
// faster.
void sort_marks(std::vector<utf8proc_int32_t>& points) {
  for (auto run = points.begin(); run != points.end();) {
    if (combining_class(*run) == 0) {
      ++run;
      continue;
    }
    const auto end =
        std::find_if(run, points.end(), [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(run, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    run = end;
  }
}

constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

// Appends the composed form of one cluster.
void compose_cluster(std::string& out, std::string_view cluster) {
  std::vector<utf8proc_int32_t> points;
  for (Index at = 0; at < std::ssize(cluster);) {
    const CodePoint point = code_point_at(cluster, at);
    utf8proc_int32_t parts[32];
    int last_boundclass = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point.value), parts,
                                                           32, kDecompose, &last_boundclass);
    check(count > 0 && count <= 32, "utf8proc decomposes a character into an unexpected number of parts");
    points.insert(points.end(), parts, parts + count);
    at += point.length;
  }
  sort_marks(points);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kCompose);
  check(count > 0, "utf8proc could not compose");
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(out, static_cast<char32_t>(points[static_cast<std::size_t>(i)]));
}

// Appends text that did not change: each character keeps its own span.
void append_unchanged(AlignedText& out, std::string_view text, Index code_point, SpanMode mode) {
  out.bytes.append(text);
  if (mode == SpanMode::kSkip) return;
  for (Index at = 0; at < std::ssize(text); ++code_point) {
    const Index length = code_point_at(text, at).length;
    out.origin.insert(out.origin.end(), static_cast<std::size_t>(length),
                      TokenSpan{code_point, code_point + 1});
    at += length;
  }
}

// NFC_Quick_Check by hand: no character of the text can change when all are below U+0300.
bool all_below_0300(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xCC; });
}

struct Cluster {
  Index size = 0;  // bytes
  Index code_points = 0;
  bool may_change = false;
};

Cluster cluster_at(std::string_view text, Index at) {
  Cluster cluster;
  while (at + cluster.size < std::ssize(text)) {
    const CodePoint point = code_point_at(text, at + cluster.size);
    const bool joins = joins_previous(point.value);
    if (cluster.code_points > 0 && !joins) break;
    cluster.may_change = cluster.may_change || decomposes(point.value) || joins;
    cluster.size += point.length;
    ++cluster.code_points;
  }
  return cluster;
}

AlignedText to_nfc(std::string_view text, Index code_point, SpanMode mode) {
  AlignedText out;
  out.bytes.reserve(text.size());
  std::string composed;
  for (Index at = 0; at < std::ssize(text);) {
    const Cluster cluster = cluster_at(text, at);
    const std::string_view source =
        text.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(cluster.size));
    composed.clear();
    if (cluster.may_change) compose_cluster(composed, source);
    if (!cluster.may_change || composed == source) {
      append_unchanged(out, source, code_point, mode);
    } else {
      out.bytes += composed;
      if (mode == SpanMode::kTrack) {
        out.origin.insert(out.origin.end(), composed.size(),
                          TokenSpan{code_point, code_point + cluster.code_points});
      }
    }
    at += cluster.size;
    code_point += cluster.code_points;
  }
  return out;
}

}  // namespace

Normalizer parse_normalizer(const Json* value, const std::string& place) {
  if (value == nullptr) return Normalizer::kNone;
  const JsonObject object(*value, place);
  const std::string type = object.string("type");
  if (type == "NFC") return Normalizer::kNfc;
  if (type != "Sequence") fail("{}: type {} is not known (known: NFC, Sequence)", place, quote(type));
  const Json* steps = object.find("normalizers");
  if (steps == nullptr || !steps->is_array()) fail("{}: \"normalizers\" is missing or not an array", place);
  Normalizer result = Normalizer::kNone;
  for (const Json& step : *steps) {
    // NFC twice is NFC once, so a sequence is NFC as soon as one step is.
    if (parse_normalizer(&step, place + ".normalizers") == Normalizer::kNfc) result = Normalizer::kNfc;
  }
  return result;
}

AlignedText normalize(Normalizer normalizer, std::string_view text, Index first_code_point, SpanMode mode) {
  if (normalizer == Normalizer::kNfc && !all_below_0300(text)) return to_nfc(text, first_code_point, mode);
  AlignedText out;
  append_unchanged(out, text, first_code_point, mode);
  return out;
}

std::string normalize(Normalizer normalizer, std::string_view text) {
  return normalize(normalizer, text, 0, SpanMode::kSkip).bytes;
}

}  // namespace buoy
