// The syntax tree of a template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buoy/text/jinja/value.h"

namespace buoy::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Argument {
  std::string name;  // empty: positional
  ExpressionPtr value;
};

enum class ExpressionKind {
  kLiteral,      // literal
  kName,         // name
  kList,         // parts: items (tuples too)
  kDict,         // parts: key, value, key, value, …
  kAttribute,    // parts: object; name
  kIndex,        // parts: object, index
  kSlice,        // parts: object, begin, end, step; null where absent
  kCall,         // parts: a kName or a kAttribute; arguments
  kFilter,       // parts: operand; name; arguments
  kTest,         // parts: operand; name; arguments
  kNot,          // parts: operand
  kNegative,     // parts: operand
  kBinary,       // parts: left, right; name: the operator
  kAnd,          // parts: left, right
  kOr,           // parts: left, right
  kConditional,  // parts: then, condition, otherwise (null: undefined)
};

struct Expression {
  ExpressionKind kind;
  Index line = 0;
  std::string name;
  Value literal;
  std::vector<ExpressionPtr> parts;
  std::vector<Argument> arguments;
  Index depth = 1;  // of the tree below, itself included; bounded by the parser
};

struct Statement;
using Block = std::vector<Statement>;

enum class StatementKind { kText, kOutput, kIf, kFor, kSet };

// What a `set` or a `for` assigns to: a name, a field of a namespace, or several names.
struct Target {
  std::vector<std::string> names;
  std::string field;  // names[0].field, when not empty
};

// A condition and what it guards; no condition: else.
struct Branch {
  ExpressionPtr condition;
  Block body;
};

struct Statement {
  StatementKind kind;
  Index line = 0;
  std::string text;              // kText
  ExpressionPtr value;           // kOutput, kSet (null: the text of body), kFor (what is walked)
  Target target;                 // kSet, kFor
  ExpressionPtr filter;          // kFor … if filter
  Block body;                    // kFor, kSet
  Block otherwise;               // kFor … else
  std::vector<Branch> branches;  // kIf
};

}  // namespace buoy::jinja
