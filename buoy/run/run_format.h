// What a run's file says of itself in SQLite's header, and its tables. Private to run.
#pragma once

#include "buoy/base/types.h"

namespace buoy {

inline constexpr Index kRunApplication = 0x42754F79, kRunVersion = 4;  // "BuOy"

// Read back as it is written here: what a file has beside it is nothing of a run's.
inline constexpr const char* kRunSchema = R"(
  CREATE TABLE run (settings TEXT NOT NULL);
  CREATE TABLE sessions (about TEXT NOT NULL);
  CREATE TABLE items (data TEXT NOT NULL, sample TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (data, sample));
  CREATE TABLE inputs (
    data TEXT NOT NULL, condition TEXT NOT NULL, sample TEXT NOT NULL,
    question TEXT NOT NULL, answers TEXT NOT NULL, passages TEXT NOT NULL,
    PRIMARY KEY (data, condition, sample));
  CREATE TABLE retrieved (
    data TEXT NOT NULL, condition TEXT NOT NULL, sample TEXT NOT NULL, passages TEXT NOT NULL,
    PRIMARY KEY (data, condition, sample));
  CREATE TABLE collections (condition TEXT NOT NULL PRIMARY KEY, collection TEXT NOT NULL);
  CREATE TABLE prompt_ids (
    model TEXT NOT NULL, data TEXT NOT NULL, condition TEXT NOT NULL, sample TEXT NOT NULL, ids TEXT NOT NULL,
    PRIMARY KEY (model, data, condition, sample));
  CREATE TABLE samples (
    model TEXT NOT NULL, data TEXT NOT NULL, condition TEXT NOT NULL, sample TEXT NOT NULL,
    number INTEGER NOT NULL, task TEXT NOT NULL, question TEXT NOT NULL,
    prompt TEXT NOT NULL, answer TEXT NOT NULL,
    em REAL NOT NULL, substring REAL NOT NULL, f1 REAL NOT NULL,
    prompt_tokens INTEGER NOT NULL, steps INTEGER NOT NULL, commit_step TEXT NOT NULL, seconds REAL NOT NULL,
    seen TEXT NOT NULL, output_ids TEXT NOT NULL,
    PRIMARY KEY (model, data, condition, sample));
)";

}  // namespace buoy
