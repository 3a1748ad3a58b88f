#include "buoy/analysis/task_dependence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"
#include "buoy/base/error.h"
#include "buoy/base/random.h"

namespace buoy {
namespace {

constexpr std::string_view kProfile = "anchor_profile";
// Divergences that differ by less are the same: sums in another order.
constexpr double kSame = 1e-12;

using Profile = std::vector<double>;

Profile mean_profile(std::span<const Profile* const> samples) {
  Profile mean(samples[0]->size());
  for (const Profile* sample : samples) {
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += (*sample)[c];
  }
  for (double& share : mean) share /= static_cast<double>(samples.size());
  return mean;
}

// Of the first n_a samples and the others.
double divergence_of(std::span<const Profile* const> samples, Index n_a) {
  return jensen_shannon(mean_profile(samples.first(n_a)), mean_profile(samples.subspan(n_a)));
}

void shuffle(std::span<const Profile*> samples, Index permutation) {
  const DrawKey key{.seed = kStatisticsSeed, .step = static_cast<std::uint32_t>(permutation)};
  for (Index i = std::ssize(samples) - 1; i > 0; --i) {
    const auto j = static_cast<Index>(uniform(key, i) * static_cast<double>(i + 1));
    std::swap(samples[i], samples[std::min(i, j)]);
  }
}

TaskDistance compare(const TaskProfiles& a, const TaskProfiles& b) {
  std::vector<const Profile*> samples;
  for (const Profile& sample : a.samples) samples.push_back(&sample);
  for (const Profile& sample : b.samples) samples.push_back(&sample);
  TaskDistance out{.a = a.task, .b = b.task, .n_a = std::ssize(a.samples), .n_b = std::ssize(b.samples)};
  out.divergence = divergence_of(samples, out.n_a);
  Index as_far = 0;
  for (Index permutation = 0; permutation < kPermutations; ++permutation) {
    std::vector<const Profile*> dealt = samples;
    shuffle(dealt, permutation);
    if (divergence_of(dealt, out.n_a) >= out.divergence - kSame) ++as_far;
  }
  out.p = static_cast<double>(1 + as_far) / static_cast<double>(1 + kPermutations);
  return out;
}

struct ProfiledSample {
  Index number = 0, question = 0;  // in the table; among those that were chosen
  Profile profile;
};

// The group's samples that have a profile.
std::vector<ProfiledSample> profiles_of(const SampleTable& table, const Group& group) {
  const std::vector<Index> chosen = table.select(group);
  const std::vector<Index> questions = table.questions_of(chosen);
  std::vector<Profile> profiles(chosen.size());
  std::vector<char> present(chosen.size());
  for (const auto& [key, column] : table.columns()) {
    if (key.quantity != kProfile) continue;
    const DenseColumn cells = dense(column, chosen);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      profiles[i].push_back(cells.values[i]);
      if (cells.weights[i] != 0) present[i] = 1;
    }
  }
  std::vector<ProfiledSample> out;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (present[i] == 0) continue;
    out.push_back({.number = chosen[i], .question = questions[i], .profile = std::move(profiles[i])});
  }
  return out;
}

// Divergence of `one` from the mean profile of each task, without samples of its own question.
std::map<std::string, double> distances_from(const ProfiledSample& one, const SampleTable& table,
                                             std::span<const ProfiledSample> samples) {
  std::map<std::string, std::vector<const Profile*>> tasks;
  for (const ProfiledSample& other : samples) {
    if (other.question != one.question) tasks[table.samples()[other.number].task].push_back(&other.profile);
  }
  std::map<std::string, double> distances;
  for (const auto& [task, profiles] : tasks) {
    distances.emplace(task, jensen_shannon(one.profile, mean_profile(profiles)));
  }
  return distances;
}

}  // namespace

Measurements profile(const Trace& trace, const AnalysisOptions& options) {
  std::array<std::array<double, kTokenClassCount>, kRegionKindCount> mass{};
  double total = 0;
  for (Index l = 0; l < trace.L(); ++l) {
    const Received received = finished_received(trace, l);
    for (const Index j : received.anchors(options.anchors)) {
      const RegionKind kind = trace.regions.regions[trace.regions.of[j]].kind;
      mass[static_cast<std::size_t>(kind)][static_cast<std::size_t>(trace.classes[j])] += received.share[j];
      total += received.share[j];
    }
  }
  Measurements out;
  if (total <= 0) return out;
  for (Index kind = 0; kind < kRegionKindCount; ++kind) {
    for (Index c = 0; c < kTokenClassCount; ++c) {
      out.push_back({.quantity = std::string(kProfile),
                     .part = fmt::format("{}/{}", name_of(static_cast<RegionKind>(kind)),
                                         name_of(static_cast<TokenClass>(c))),
                     .value = mass[kind][c] / total});
    }
  }
  return out;
}

std::vector<TaskProfiles> task_profiles(const SampleTable& table, const Group& group) {
  std::map<std::string, std::vector<Profile>> tasks;
  for (ProfiledSample& sample : profiles_of(table, group)) {
    tasks[table.samples()[sample.number].task].push_back(std::move(sample.profile));
  }
  std::vector<TaskProfiles> out;
  for (auto& [task, samples] : tasks) out.push_back({.task = task, .samples = std::move(samples)});
  return out;
}

double jensen_shannon(std::span<const double> p, std::span<const double> q) {
  check(p.size() == q.size(), "two profiles have the same cells");
  double divergence = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    const double middle = (p[c] + q[c]) / 2;
    if (p[c] > 0) divergence += p[c] / 2 * std::log(p[c] / middle);
    if (q[c] > 0) divergence += q[c] / 2 * std::log(q[c] / middle);
  }
  return std::max(0.0, divergence);
}

std::vector<TaskDistance> task_dependence(std::span<const TaskProfiles> tasks) {
  std::vector<TaskDistance> out;
  for (std::size_t a = 0; a < tasks.size(); ++a) {
    for (std::size_t b = a + 1; b < tasks.size(); ++b) {
      if (tasks[a].samples.empty() || tasks[b].samples.empty()) continue;
      out.push_back(compare(tasks[a], tasks[b]));
    }
  }
  return out;
}

void add_task_contrast(SampleTable& table) {
  std::map<std::string, std::vector<ProfiledSample>> models;
  for (ProfiledSample& sample : profiles_of(table, {})) {
    models[table.samples()[sample.number].model].push_back(std::move(sample));
  }
  for (const auto& [model, samples] : models) {
    for (const ProfiledSample& one : samples) {
      const SampleKey key = table.samples()[one.number];
      std::map<std::string, double> distances = distances_from(one, table, samples);
      const auto own = distances.extract(key.task);
      if (own.empty() || distances.empty()) continue;
      Mean others;
      for (const auto& [task, distance] : distances) others.add(distance);
      table.add(key, std::vector<Measurement>{
                         {.quantity = "task_contrast", .value = others.value() - own.mapped()}});
    }
  }
}

}  // namespace buoy
