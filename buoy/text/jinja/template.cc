#include "buoy/text/jinja/template.h"

#include "buoy/io/json.h"
#include "buoy/text/jinja/builtins.h"
#include "buoy/text/jinja/parser.h"
#include "buoy/text/vocabulary.h"

namespace buoy::jinja {
namespace {

constexpr std::size_t kLongestSource = std::size_t{1} << 20;

// Kinds of expression that only find a value; the others make one.
bool only_finds(ExpressionKind kind) {
  return kind == ExpressionKind::kLiteral || kind == ExpressionKind::kName ||
         kind == ExpressionKind::kAttribute;
}

using Scope = StringMap<Value>;

class Interpreter {
 public:
  Interpreter(const std::string& place, const std::tm& now, Budget& budget)
      : place_(place), now_(now), budget_(budget) {
    scopes_.emplace_back();
  }

  void define(const std::string& name, Value value) {
    scopes_.back().insert_or_assign(name, std::move(value));
  }

  void run(const Block& block, std::string& out) {
    for (const Statement& statement : block) run(statement, out);
  }

 private:
  Site site(Index line) const { return {&place_, line, &budget_}; }

  void run(const Statement& statement, std::string& out) {
    spend_steps(site(statement.line), 1);
    switch (statement.kind) {
      case StatementKind::kText:
        out += statement.text;
        break;
      case StatementKind::kOutput:
        out += to_text(evaluate(*statement.value), site(statement.line));
        break;
      case StatementKind::kIf:
        run_if(statement, out);
        break;
      case StatementKind::kFor:
        run_for(statement, out);
        break;
      case StatementKind::kSet:
        run_set(statement);
        break;
    }
    check_length(site(statement.line), out.size());
  }

  void run_if(const Statement& statement, std::string& out) {
    for (const Branch& branch : statement.branches) {
      if (branch.condition && !evaluate(*branch.condition).truthy()) continue;
      run(branch.body, out);
      return;
    }
  }

  void assign(const Target& target, const Value& value, Index line) {
    if (!target.field.empty()) {
      const Value object = lookup(target.names.front());
      const auto* space = object.get<std::shared_ptr<Namespace>>();
      if (space == nullptr)
        fail_at(site(line), "{} is {}, expected a namespace", target.names.front(), object.kind());
      spend_steps(site(line), std::ssize((*space)->fields) / kItemsPerStep);
      set_field((*space)->fields, target.field, value);
    } else if (target.names.size() == 1) {
      define(target.names.front(), value);
    } else {
      const List* items = value.items();
      if (items == nullptr || items->size() != target.names.size()) {
        fail_at(site(line), "cannot unpack {} into {} names", value.kind(), target.names.size());
      }
      for (std::size_t i = 0; i < items->size(); ++i) define(target.names[i], (*items)[i]);
    }
  }

  void run_set(const Statement& statement) {
    if (statement.value) {
      assign(statement.target, evaluate(*statement.value), statement.line);
      return;
    }
    std::string text;
    run(statement.body, text);
    assign(statement.target, text, statement.line);
  }

  // What the loop walks, after its `if`.
  std::vector<Value> select_items(const Statement& statement) {
    std::vector<Value> items = iterate(evaluate(*statement.value), site(statement.line));
    if (!statement.filter) return items;
    std::vector<Value> selected;
    for (Value& item : items) {
      spend_steps(site(statement.line), 1);
      scopes_.emplace_back();
      assign(statement.target, item, statement.line);
      if (evaluate(*statement.filter).truthy()) selected.push_back(std::move(item));
      scopes_.pop_back();
    }
    return selected;
  }

  static Value make_loop(const std::vector<Value>& items, std::size_t i) {
    const auto size = std::ssize(items);
    const auto index = static_cast<std::int64_t>(i);
    auto loop = std::make_shared<Loop>();
    loop->fields = {{"index", index + 1},
                    {"index0", index},
                    {"revindex", size - index},
                    {"revindex0", size - index - 1},
                    {"first", index == 0},
                    {"last", index == size - 1},
                    {"length", static_cast<std::int64_t>(size)},
                    {"previtem", i > 0 ? items[i - 1] : Value(Undefined{"loop.previtem"})},
                    {"nextitem", i + 1 < items.size() ? items[i + 1] : Value(Undefined{"loop.nextitem"})}};
    return std::shared_ptr<const Loop>(std::move(loop));
  }

  void run_for(const Statement& statement, std::string& out) {
    const std::vector<Value> items = select_items(statement);
    for (std::size_t i = 0; i < items.size(); ++i) {
      spend_steps(site(statement.line), 1);
      scopes_.emplace_back();
      define("loop", make_loop(items, i));
      assign(statement.target, items[i], statement.line);
      run(statement.body, out);
      scopes_.pop_back();
    }
    if (items.empty()) {
      scopes_.emplace_back();
      run(statement.otherwise, out);
      scopes_.pop_back();
    }
  }

  Value lookup(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto it = scope->find(name); it != scope->end()) return it->second;
    }
    if (is_function(name)) return Function{name};
    return Undefined{name};
  }

  Arguments evaluate_arguments(const std::vector<Argument>& arguments, const std::string& callee,
                               Index line) {
    std::vector<Value> positional;
    Dict named;
    for (const Argument& argument : arguments) {
      Value value = evaluate(*argument.value);
      if (argument.name.empty()) {
        positional.push_back(std::move(value));
        continue;
      }
      if (find_field(named, argument.name) != nullptr) {
        fail_at(site(line), "{} gets its argument {} twice", callee, argument.name);
      }
      named.emplace_back(argument.name, std::move(value));
    }
    return Arguments(std::move(positional), std::move(named), callee, site(line));
  }

  Value call(const Expression& node) {
    const Expression& callee = *node.parts[0];
    if (callee.kind == ExpressionKind::kAttribute) {
      const Value object = evaluate(*callee.parts[0]);
      return call_method(object, callee.name, evaluate_arguments(node.arguments, callee.name, node.line));
    }
    const Value function = lookup(callee.name);
    if (function.is_undefined()) fail_at(site(node.line), "the function {} is not supported", callee.name);
    const auto* known = function.get<Function>();
    if (known == nullptr)
      fail_at(site(node.line), "{} is {}, which cannot be called", callee.name, function.kind());
    return call_function(known->name, evaluate_arguments(node.arguments, known->name, node.line), now_);
  }

  Value make_list(const Expression& node) {
    List items;
    for (const ExpressionPtr& part : node.parts) items.push_back(evaluate(*part));
    return Value::list(std::move(items), site(node.line));
  }

  Value make_dict(const Expression& node) {
    Dict fields;
    for (std::size_t i = 0; i < node.parts.size(); i += 2) {
      const Value key = evaluate(*node.parts[i]);
      if (key.string() == nullptr) fail_at(site(node.line), "{} as a key is not supported", key.kind());
      spend_steps(site(node.line), std::ssize(fields) / kItemsPerStep);
      set_field(fields, *key.string(), evaluate(*node.parts[i + 1]));
    }
    return Value::dict(std::move(fields), site(node.line));
  }

  Value slice(const Expression& node) {
    const auto bound = [&](std::size_t i) { return node.parts[i] ? evaluate(*node.parts[i]) : Value(); };
    const Value object = evaluate(*node.parts[0]);
    return get_slice(object, {.begin = bound(1), .end = bound(2), .step = bound(3)}, site(node.line));
  }

  Value choose(const Expression& node) {
    if (evaluate(*node.parts[1]).truthy()) return evaluate(*node.parts[0]);
    return node.parts[2] ? evaluate(*node.parts[2]) : Value(Undefined{"the missing else"});
  }

  Value evaluate(const Expression& node) {
    Value value = evaluate_kind(node);
    Index steps = 1;
    if (const List* items = value.items()) steps += std::ssize(*items) / kItemsPerStep;
    if (const std::string* text = value.string(); text != nullptr && !only_finds(node.kind)) {
      steps += std::ssize(*text) / kBytesPerStep;
      spend_bytes(site(node.line), text->size());
    }
    spend_steps(site(node.line), steps);
    return value;
  }

  Value evaluate_kind(const Expression& node) {
    const auto part = [&](std::size_t i) { return evaluate(*node.parts[i]); };
    switch (node.kind) {
      case ExpressionKind::kLiteral:
        return node.literal;
      case ExpressionKind::kName:
        return lookup(node.name);
      case ExpressionKind::kList:
        return make_list(node);
      case ExpressionKind::kDict:
        return make_dict(node);
      case ExpressionKind::kAttribute:
        return get_attribute(part(0), node.name, site(node.line));
      case ExpressionKind::kIndex: {
        const Value object = part(0);
        return get_item(object, part(1), site(node.line));
      }
      case ExpressionKind::kSlice:
        return slice(node);
      case ExpressionKind::kCall:
        return call(node);
      case ExpressionKind::kFilter: {
        const Value operand = part(0);
        return apply_filter(node.name, operand, evaluate_arguments(node.arguments, node.name, node.line));
      }
      case ExpressionKind::kTest: {
        const Value operand = part(0);
        return apply_test(node.name, operand, evaluate_arguments(node.arguments, node.name, node.line));
      }
      case ExpressionKind::kNot:
        return !part(0).truthy();
      case ExpressionKind::kNegative:
        return negate(part(0), site(node.line));
      case ExpressionKind::kBinary: {
        const Value left = part(0);
        return apply_operator(node.name, left, part(1), site(node.line));
      }
      case ExpressionKind::kAnd: {
        Value left = part(0);
        return left.truthy() ? part(1) : left;
      }
      case ExpressionKind::kOr: {
        Value left = part(0);
        return left.truthy() ? left : part(1);
      }
      case ExpressionKind::kConditional:
        return choose(node);
    }
    check(false, "every kind of expression has its code");
    return {};
  }

  const std::string& place_;
  const std::tm& now_;
  Budget& budget_;
  std::vector<Scope> scopes_;
};

}  // namespace

Template Template::parse(std::string_view source, std::string place) {
  if (source.size() > kLongestSource)
    fail("{}: the template has {} bytes, expected at most {}", place, source.size(), kLongestSource);
  Block body = jinja::parse(source, place);
  return Template(std::move(place), std::move(body));
}

std::string Template::render(const Json& variables, const std::tm& now, Index most_steps) const {
  Budget budget(most_steps);
  const Site start{&place_, 1, &budget};
  if (!variables.is_object()) fail_at(start, "the variables are {}, expected an object", kind_of(variables));
  Interpreter interpreter(place_, now, budget);
  for (const auto& [name, value] : variables.items())
    interpreter.define(name, Value::from_json(value, start));
  std::string out;
  interpreter.run(body_, out);
  return out;
}

}  // namespace buoy::jinja
