// Task dependence: do anchors stand on different things when the question is of another kind?
#pragma once

#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"

namespace buoy {

// anchor_profile, with part "REGIONKIND/CLASS" for every kind and class: the share of the anchors' received
// attention, over all recorded layers of the finished sequence, that stands there. Nothing when there are no
// anchors.
Measurements profile(const Trace& trace, const AnalysisOptions& options);

struct TaskProfiles {
  std::string task;
  std::vector<std::vector<double>> samples;  // each adds up to 1; cells in the same order everywhere
};

// The anchor profiles of the group's samples by task, in order of name. Tasks without profiles are left out.
std::vector<TaskProfiles> task_profiles(const SampleTable& table, const Group& group);

// Jensen–Shannon divergence of two distributions over the same cells, nats: 0 when equal, ln 2 when disjoint.
double jensen_shannon(std::span<const double> p, std::span<const double> q);

inline constexpr Index kPermutations = 1000;

struct TaskDistance {
  std::string a, b;
  Index n_a = 0, n_b = 0;  // samples
  double divergence = 0;   // of the mean profiles, nats
  double p = 1;            // (1 + permutations at least as far apart) ÷ (1 + kPermutations)
};

// Every pair of tasks. Samples are dealt out to the two tasks at random, with a fixed seed, to see how far
// apart chance would put them.
std::vector<TaskDistance> task_dependence(std::span<const TaskProfiles> tasks);

// Adds task_contrast to every sample that has an anchor profile: the divergence of its profile from the mean
// profile of each other task of its model, mean over those tasks, − that from its own task. Samples of the
// same question count in neither mean: they would be close for another reason. Above 0: anchors stand where
// those of the same task do. Nothing where no other task, or nothing else of its own, is left. Once, after
// all samples are there.
void add_task_contrast(SampleTable& table);

}  // namespace buoy
